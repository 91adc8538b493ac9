"""An exhaustive explorer of small models: every state that any order of steps and faults leads to, breadth first.

A model says what must never be (`broken`) and what must stay within reach (`done`). The explorer gives the shortest way
to a broken state, or to one from which nothing leads to a state that is done: a run that stands still for good.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

State = TypeVar("State", bound=Hashable)
STATES_MAX = 400_000


class Model(Generic[State]):
    """One part of the protocol over small sizes. `off` names the safeguards that are left out.

    `safeguards` maps each safeguard's name to what keeps it in the code. `backed` are safeguards that others cover: alone
    they may be missing, and the test that removes them removes the named others too. `spare` are those that nothing here
    needs: second lines of defence. `rules` are the numbers of docs/architecture.md that the model has.
    """

    rules: ClassVar[tuple[int, ...]] = ()
    safeguards: ClassVar[dict[str, str]] = {}
    backed: ClassVar[dict[str, tuple[str, ...]]] = {}
    spare: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *off: str) -> None:
        unknown = set(off) - self.safeguards.keys()
        assert not unknown, unknown
        self.off = frozenset(off)

    def on(self, safeguard: str) -> bool:
        """Is the safeguard in place? One that this model does not remove always is."""
        return safeguard not in self.off

    def start(self) -> State:
        """The first state."""
        raise NotImplementedError

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Everything that can happen next, in words that begin with the function of the code that does it."""
        raise NotImplementedError

    def broken(self, state: State) -> str | None:
        """Which promise this state breaks, in a few words; None if it breaks none."""
        raise NotImplementedError

    def done(self, state: State) -> bool:
        """Is everything done that the log asks for? Such a state must be within reach from everywhere."""
        raise NotImplementedError


@dataclass
class Outcome:
    """What an exploration found: nothing (`broken` is None), or a broken promise with the shortest way to it."""

    model: Model
    states: int = 0
    transitions: int = 0
    seconds: float = 0.0
    broken: str | None = None
    way: list[str] = field(default_factory=list)
    last: tuple | None = None

    def __str__(self) -> str:
        name, off = type(self.model).__name__, ", ".join(sorted(self.model.off))
        title = f"{name} without {off}" if off else name
        head = f"{title}: {self.states} states, {self.transitions} steps, {self.seconds:.1f} s"
        if self.broken is None:
            return f"{head}: holds"
        lines = [f"{number:4}. {step}" for number, step in enumerate(self.way, 1)]
        first = self.model.start()._asdict()
        changed = [f"{name}={value}" for name, value in self.last._asdict().items() if value != first[name]]
        return "\n".join([f"{head}: {self.broken}", *lines, f"      where {', '.join(changed)}"])


def explore(model: Model, states_max: int = STATES_MAX) -> Outcome:
    """All states of the model, or as many as lie on the way to the first broken one."""
    began, first = time.perf_counter(), model.start()
    came: dict[Hashable, tuple[Hashable, str] | None] = {first: None}
    before: dict[Hashable, list[Hashable]] = {}
    todo, outcome = deque([first]), Outcome(model)
    while todo and outcome.broken is None:
        state = todo.popleft()
        for step, following in model.steps(state):
            outcome.transitions += 1
            before.setdefault(following, []).append(state)
            if following not in came:
                came[following] = (state, step)
                todo.append(following)
                outcome.broken = model.broken(following)
                if outcome.broken:
                    outcome.last = following
                    break
        assert len(came) <= states_max, f"{type(model).__name__} is too large"
    if outcome.broken is None:
        outcome.last = _standing(model, came, before)
        outcome.broken = "STANDS STILL: nothing leads to the end any more" if outcome.last is not None else None
    outcome.states, outcome.seconds = len(came), time.perf_counter() - began
    outcome.way = _way(came, outcome.last)
    return outcome


def _standing(model: Model, came: dict, before: dict) -> Hashable:
    """The first state found from which no done state can be reached; None if there is none."""
    good = {state for state in came if model.done(state)}
    todo = list(good)
    while todo:
        for state in before.get(todo.pop(), ()):
            if state not in good:
                good.add(state)
                todo.append(state)
    return next((state for state in came if state not in good), None)


def _way(came: dict, state: Hashable) -> list[str]:
    steps = []
    while state is not None and came[state]:
        state, step = came[state]
        steps.append(step)
    return steps[::-1]


def put(items: tuple, index: int, item: object) -> tuple:
    """A copy of a tuple with one item replaced."""
    return (*items[:index], item, *items[index + 1:])


def without(items: tuple, index: int) -> tuple:
    """A copy of a tuple with one item left out."""
    return items[:index] + items[index + 1:]


def counted(counts: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    """The counts per offset after [start, end) was merged once more."""
    return tuple(n + (start <= offset < end) for offset, n in enumerate(counts))


def wrong(counts: tuple[int, ...], position: int) -> str | None:
    """What is lost or doubled in counts per offset up to a position (and must not be there after it)."""
    for offset, n in enumerate(counts):
        if n > 1:
            return f"DOUBLED: offset {offset}"
        if n < (offset < position):
            return f"LOST: offset {offset}"
    return None
