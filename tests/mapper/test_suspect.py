"""A claim that was given before is worked on with nothing else at work, and says how far it is (rule 10)."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from mapper.suspect import Suspects
from mars.model.claims import Claim

VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, name="s"), generation=1)


def claim(given: int, kills: str = "") -> Claim:
    return Claim(7, 0, 5, 6, {"q1": 1}, 3, given, None, kills)


class Marks(list):
    """Stands for the exchange."""

    def mark(self, stream_id: int, generation: int, claim: Claim, stage: str) -> bool:
        self.append(stage)
        return True


@pytest.fixture
def suspects() -> Suspects:
    return Suspects(None, Marks(), threading.Event())


def test_a_first_claim_waits_for_nobody_and_marks_nothing(suspects):
    suspects.handed = 1
    suspects.begin(VIEW, claim(1))
    suspects.compute(VIEW, claim(1))
    suspects.end(claim(1))
    assert suspects.exchange == []


@pytest.mark.parametrize("step", ["begin", "end"])
def test_a_suspect_is_alone_before_it_is_read_and_until_it_is_computed(suspects, step):
    suspects.handed = 1
    work = {"begin": lambda: suspects.begin(VIEW, claim(2)), "end": lambda: suspects.end(claim(2))}[step]
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    assert suspects.exchange == []
    suspects.computed = 1
    thread.join(60)
    assert not thread.is_alive()


def test_it_says_how_far_it_is_unless_all_is_known(suspects):
    suspects.begin(VIEW, claim(2))
    suspects.compute(VIEW, claim(2))
    assert suspects.exchange == ["reading", "computing"]
    suspects.begin(VIEW, claim(6, "reading"))
    suspects.compute(VIEW, claim(6, "reading"))
    assert len(suspects.exchange) == 2
