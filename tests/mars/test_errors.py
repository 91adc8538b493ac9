"""Every error says by its type who can be blamed and what helps, and has one status over HTTP."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import api.rest.problems
import api.statements.adhoc_job
from api.rest.problems import UnauthorizedError, status_of
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, TopicRecreated, UnknownTopic
from mars.adapters.storage import STATE_AWAY, CorruptFileError, StateAwayError
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, TooLargeError
from mars.errors import (
    Blame,
    ConfigurationError,
    ConflictError,
    FormatError,
    GoneError,
    InvariantError,
    MarsError,
    NotFoundError,
    NotReadyError,
    Remedy,
    RequestError,
    SqlError,
)
from mars.results.open_windows import OpenFileError

TELL, RETRY, READ_AGAIN = Remedy.TELL, Remedy.RETRY, Remedy.READ_AGAIN


@pytest.mark.parametrize(("kind", "blame", "remedy", "status"), [
    (SqlError, Blame.USER, TELL, 400),
    (UnauthorizedError, Blame.USER, TELL, 401),
    (NotFoundError, Blame.USER, TELL, 404),
    (UnknownTopic, Blame.USER, TELL, 404),
    (FormatError, Blame.USER, TELL, 406),
    (ConflictError, Blame.USER, TELL, 409),
    (GoneError, Blame.USER, TELL, 410),
    (RequestError, Blame.USER, TELL, 422),
    (ConfigurationError, Blame.USER, TELL, 500),
    (MarsError, Blame.ENVIRONMENT, TELL, 500),
    (KafkaRefused, Blame.ENVIRONMENT, TELL, 500),
    (NotReadyError, Blame.ENVIRONMENT, RETRY, 503),
    (KafkaUnreachable, Blame.ENVIRONMENT, RETRY, 503),
    (StateAwayError, Blame.ENVIRONMENT, RETRY, 503),
    (TooLargeError, Blame.ENVIRONMENT, RETRY, 503),
    (OpenFileError, Blame.ENVIRONMENT, RETRY, 503),
    (ExchangeFullError, Blame.ENVIRONMENT, RETRY, 500),
    (StaleGenerationError, Blame.ENVIRONMENT, READ_AGAIN, 500),
    (StaleEpochError, Blame.ENVIRONMENT, READ_AGAIN, 500),
    (CorruptFileError, Blame.ENVIRONMENT, Remedy.FALL_BACK, 500),
    (TopicRecreated, Blame.ENVIRONMENT, Remedy.STOP_QUERY, 500),
    (InvariantError, Blame.US, Remedy.RECOVER, 500),
])
def test_a_type_says_blame_remedy_and_status(kind, blame, remedy, status):
    error = kind.__new__(kind)
    assert (error.blame, error.remedy, status_of(error)) == (blame, remedy, status)


def test_an_error_is_of_one_kind_alone():
    """What is caught as one thing must not be another one too: the order of handlers would decide what is done."""
    kinds = [kind for kind in _below(MarsError) if len(kind.__bases__) > 1]
    assert kinds == []
    assert not issubclass(StateAwayError, OSError)
    assert issubclass(StateAwayError, STATE_AWAY)
    assert issubclass(TooLargeError, ZOOKEEPER_AWAY)


def _below(kind: type) -> list[type]:
    return [found for one in kind.__subclasses__() for found in (one, *_below(one))]


@pytest.mark.parametrize("error", [NotReadyError("away", "at home", "wait"), UnknownTopic("t"), SqlError("no", sql="SELECT"),
                                   KafkaUnreachable("t", 0, "moves"), KafkaRefused("t", 0, "not you"), InvariantError("!")])
def test_a_fault_of_a_task_on_spark_keeps_kind_and_words(error, monkeypatch):
    def fail(*_: object) -> None:
        raise error

    job = api.statements.adhoc_job
    monkeypatch.setattr(job, "_aggregate_range", fail)
    [(part, data)] = job.mapping(SimpleNamespace(ranges=[(0, 0, 1)]))(0)
    found = job.fault(data)
    assert part == job.FAULT
    assert (found.title, found.detail, found.hint) == (error.title, error.detail, error.hint)
    assert (status_of(found), found.blame) == (status_of(error), error.blame)
