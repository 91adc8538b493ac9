"""Queries that other code has made are refused by name: a Mars that would change their answers does not start, a worker that
meets one later stops that one alone, and what rests stays at rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mapper.job
import reducer.job
from api.instance import server
from mars import computing
from mars.adapters.catalog import CatalogStore
from mars.adapters.computability import admit_worker, require_computable, stop_uncomputable
from mars.adapters.view import read_stream
from mars.errors import ConflictError
from mars.model.plan import QueryPlan, Stream, StreamColumn
from mars.model.registry import PAUSED, RUNNING
from sql.check.compile import compile_select
from sql.read.parse import parse

pytestmark = pytest.mark.services
COLUMNS = (StreamColumn("t", "BIGINT"), StreamColumn("x", "DOUBLE"))


@pytest.fixture
def store(context) -> CatalogStore:
    return CatalogStore(context.zk)


@pytest.fixture
def stream(store, fresh_name) -> Stream:
    return store.create_stream(Stream(fresh_name("s"), 0, "topic", "id", COLUMNS, "CSV", "t"), [0])


@pytest.fixture
def queries(store, stream, fresh_name) -> dict[str, str]:
    """The names of two queries, of which one takes logarithms."""
    found = {function: fresh_name(function) for function in ("log10", "abs")}
    for function, name in found.items():
        store.create_query(name, plan(stream, function), {0: 0})
    yield found
    for name in found.values():
        store.drop_query(name)


def plan(stream: Stream, function: str) -> QueryPlan:
    text = f"CREATE QUERY q AS SELECT {function}(x) AS k, count(*) FROM {stream.name} GROUP BY {function}(x) WINDOWING 1 s"
    return compile_select(parse(text).select, stream, True)


@pytest.fixture
def newer(monkeypatch, queries) -> None:
    """This code from here on is one that takes other logarithms than the one that made the queries."""
    monkeypatch.setitem(computing.VERSIONS, "log10", 2)


@pytest.mark.usefixtures("newer")
def test_nothing_starts_that_would_change_an_answer(context, stack, store, queries, monkeypatch):
    monkeypatch.setattr(server, "admit", lambda *_: None)
    starts = (lambda: require_computable(context.zk), lambda: admit_worker(stack.config),
              lambda: server.identify(stack.config, context.zk, True))
    for start in starts:
        with pytest.raises(ConflictError) as refused:
            start()
        assert f"{queries['log10']}: log10 of version 1, where this Mars has 2" in refused.value.detail
        assert queries["abs"] not in refused.value.detail
        assert "start the Mars that created them again, and DROP or PAUSE them" in refused.value.hint
    store.pause(queries["log10"])
    require_computable(context.zk)
    admit_worker(stack.config)


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize(("job", "run"), [(mapper.job, "run_mapper"), (reducer.job, "run_reducer")])
def test_a_worker_is_refused_before_it_registers(stack, monkeypatch, job, run):
    for worker in {"Mapper", "Reducer"} & vars(job).keys():
        monkeypatch.setattr(job, worker, lambda *_: pytest.fail("it would be given work"))
    with pytest.raises(ConflictError, match="This Mars would change answers"):
        getattr(job, run)(stack.config.to_json(), 0)


def test_the_code_that_made_a_query_computes_it(context, store, stream, queries):
    require_computable(context.zk)
    assert not stop_uncomputable(context.zk, read_stream(context.zk, stream))
    assert {query.state for query in store.query_set(stream).queries.values()} == {RUNNING}


@pytest.mark.usefixtures("newer")
def test_what_is_met_later_stops_alone_and_says_why(context, store, stream, queries):
    view = read_stream(context.zk, stream)
    assert stop_uncomputable(context.zk, view)
    found = {query.name: query for query in store.query_set(stream).queries.values()}
    stopped, other = found[queries["log10"]], found[queries["abs"]]
    assert (stopped.state, other.state, other.incarnation) == ("QUARANTINED", RUNNING,
                                                               view.queries.queries[other.id].incarnation)
    assert "log10 of version 1, where this Mars has 2" in stopped.reason
    assert computing.WAY_OUT in stopped.reason
    assert not stop_uncomputable(context.zk, read_stream(context.zk, stream))


@pytest.mark.usefixtures("newer")
def test_it_is_not_resumed_here_but_by_the_code_that_made_it(store, stream, queries, monkeypatch):
    store.pause(queries["log10"])
    with pytest.raises(ConflictError, match="log10 of version 1, where this Mars has 2"):
        store.resume(queries["log10"])
    assert store.query(queries["log10"])[1].state == PAUSED
    monkeypatch.setitem(computing.VERSIONS, "log10", 1)
    assert store.resume(queries["log10"]).state == RUNNING


@pytest.mark.usefixtures("newer")
def test_its_open_windows_are_not_computed_either(client, store, queries):
    store.pause(queries["log10"])
    answers = {function: client.get(f"/v1/queries/{name}/results", params={"partial": "true"})
               for function, name in queries.items()}
    assert [answers[function].status_code for function in ("log10", "abs")] == [409, 200]
    assert "log10 of version 1" in answers["log10"].json()["detail"]
    assert client.get(f"/v1/queries/{queries['log10']}/results").status_code == 200


def test_a_plan_from_before_versions_were_kept_is_known_by_its_functions(stream):
    older = replace(plan(stream, "log10"), versions=None)
    assert computing.refusal(older, stream)
    assert not computing.refusal(replace(plan(stream, "abs"), versions=None), stream)
