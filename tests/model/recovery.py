"""Recovery: Redis emptied or rolled back, leaders that are cut off in the middle of it, reducers killed between steps.

One partition of N offsets, two key parts, one query. Whatever touches ZooKeeper and Redis is two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put, without

N, RUNS, KEY_PARTS = 2, (1, 2), (0, 1)


class Redis(NamedTuple):
    """What one server holds. generation 0: nothing. `run` is the server's run id as of the install."""

    generation: int = 0
    run: int = 0
    leader: int = 0
    cursor: int = 0
    stops: tuple[int, ...] = ()
    claims: tuple[tuple[int, int], ...] = ()
    logs: tuple[tuple[tuple[int, int], ...], ...] = ((), ())


class Leader(NamedTuple):
    """A leader in the middle of Leader._recover_if_needed: the generation that it raised, the positions read so far."""

    epoch: int
    raised: int
    read: tuple[int, ...] = ()


class State(NamedTuple):
    """ZooKeeper: `generation`, `epoch` of the leader, `committed` positions. `run` is the server's present run id,
    `saved` what it may roll back to. `parts` are the reducers' (generation, position); `hands` mappers' ranges."""

    generation: int = 1
    epoch: int = 1
    committed: tuple[int, int] = (0, 0)
    redis: Redis = Redis(1, 1, 1)
    run: int = 1
    saved: Redis | None = None
    hands: tuple[tuple[int, int, int], ...] = ()
    parts: tuple[tuple[int, int], ...] = ((1, 0), (1, 0))
    leaders: tuple[Leader, ...] = ()
    late: Leader | None = None
    echoes: int = 1
    losses: int = 1
    copies: int = 0
    elections: int = 1
    kills: int = 1
    wrong: str = ""


class Recovery(Model[State]):
    """Generation, commits and install against each other. The leader's epoch is not asked: as every run raises, no two
    installs have one generation."""

    rules = (1, 3, 4, 5, 7, 13, 14, 19)
    safeguards = {
        "generation raised before reading": "Leader._recover_if_needed: then the pointers are read",
        "commit checks the generation": "set_pointer: in the pointer's transaction",
        "scripts check the generation": "mars/lua/*.lua: refused at any other",
        "stops": "lanes.install_state: no claim crosses another key part's committed position",
        "new generation, committed state": "Holdings._keep_up: what was not committed is thrown away",
        "every run raises": "Leader._recover_if_needed: a leader that goes on with another's recovery raises anew",
        "install refuses old generations": "install.lua: a generation is installed once, also if a copy comes late",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        return state.wrong or None

    def done(self, state: State) -> bool:
        return state.committed == (N, N)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._mappers(state)
        for k in KEY_PARTS:
            yield from self._reducer(state, k)
        yield from self._lead(state)
        yield from self._faults(state)

    # -- mappers --------------------------------------------------------------------------------------------------

    def _mappers(self, state: State) -> Iterator[tuple[str, State]]:
        redis = state.redis
        if redis.generation and not redis.claims:
            for end in (redis.cursor + run for run in RUNS):
                if end <= N and not (self.on("stops") and any(redis.cursor < stop < end for stop in redis.stops)):
                    made = (redis.cursor, end)
                    yield f"claim.lua: [{made[0]},{end})", state._replace(
                        redis=redis._replace(cursor=end, claims=(*redis.claims, made)),
                        hands=(*state.hands, (*made, redis.generation)))
        for claim in redis.claims:
            if (*claim, redis.generation) not in state.hands:
                yield f"claim.lua: the lease of [{claim[0]},{claim[1]}) ran out, given again", state._replace(
                    hands=(*state.hands, (*claim, redis.generation)))
        for i, (start, end, generation) in enumerate(state.hands):
            rest = state._replace(hands=without(state.hands, i))
            refused = generation != redis.generation and (self.on("scripts check the generation") or not redis.generation)
            if refused or (start, end) not in redis.claims:
                yield f"push.lua: [{start},{end}) refused", rest
                continue
            claims = without(redis.claims, redis.claims.index((start, end)))
            logs = tuple((*log, (start, end)) for log in redis.logs)
            yield f"push.lua: [{start},{end})", rest._replace(redis=redis._replace(claims=claims, logs=logs))

    # -- reducers -------------------------------------------------------------------------------------------------

    def _reducer(self, state: State, k: int) -> Iterator[tuple[str, State]]:
        redis, (generation, position) = state.redis, state.parts[k]
        heard = generation == redis.generation or not self.on("scripts check the generation")
        if redis.generation and heard:
            yield from self._merge(state, k)
            kept = tuple(e for e in redis.logs[k] if e[1] > state.committed[k])
            if kept != redis.logs[k]:
                yield f"trim.lua: key part {k} deletes up to {state.committed[k]}", state._replace(
                    redis=redis._replace(logs=put(redis.logs, k, kept)))
        if position != state.committed[k]:
            if generation == state.generation or not self.on("commit checks the generation"):
                yield f"KeyPart.commit: key part {k} at {position}", state._replace(
                    committed=put(state.committed, k, position))
            if state.kills:
                yield f"the reducer of key part {k} is killed", state._replace(
                    parts=put(state.parts, k, (generation, state.committed[k])), kills=state.kills - 1)
        if generation != state.generation:
            loaded = state.committed[k] if self.on("new generation, committed state") else position
            yield f"KeyPart.load: key part {k} at {loaded}", state._replace(
                parts=put(state.parts, k, (state.generation, loaded)))

    def _merge(self, state: State, k: int) -> Iterator[tuple[str, State]]:
        redis, (generation, position) = state.redis, state.parts[k]
        trusted = redis.generation == state.generation and redis.run == state.run
        for start, end in redis.logs[k]:
            text = f"QueryState.accept: key part {k}, [{start},{end}) at {position}"
            merged = state._replace(parts=put(state.parts, k, (generation, end)))
            if start == position:
                yield text, merged
            elif start < position < end and not self.on("positions compared"):
                yield text, merged._replace(wrong=f"DOUBLED: key part {k} merged up to {position}, then [{start},{end})")
            elif start < position < end and trusted and generation == state.generation:
                yield text, state._replace(wrong=f"OVERLAP: key part {k} is at {position}, the entry is [{start},{end})")

    # -- the leader -----------------------------------------------------------------------------------------------

    def _lead(self, state: State) -> Iterator[tuple[str, State]]:
        redis = state.redis
        for i, leader in enumerate(state.leaders):
            yield from self._go_on(state, i, leader)
        if state.late and state.redis.run == state.run:  # no connection outlives its server
            arrived = self._install(state, state.late)._replace(late=None)
            yield f"install.lua: the copy of generation {state.late.raised}", arrived
        if any(leader.epoch == state.epoch for leader in state.leaders):
            return
        same_run = redis.run == state.run or not self.on("run id compared")
        if (redis.generation, True) == (state.generation, same_run):
            return
        if not self.on("generation raised before reading"):
            yield "Leader reads first", state._replace(leaders=(*state.leaders, Leader(state.epoch, 0)))
        elif not self.on("every run raises") and redis.generation < state.generation:
            yield f"Leader {state.epoch} goes on with generation {state.generation}", state._replace(
                leaders=(*state.leaders, Leader(state.epoch, state.generation)))
        else:
            raised = max(state.generation, redis.generation) + 1
            yield f"Leader._recover_if_needed: leader {state.epoch} raises the generation to {raised}", state._replace(
                generation=raised, leaders=(*state.leaders, Leader(state.epoch, raised)))

    def _go_on(self, state: State, i: int, leader: Leader) -> Iterator[tuple[str, State]]:
        redis, rest = state.redis, without(state.leaders, i)
        k = len(leader.read)
        if k < len(KEY_PARTS):
            yield f"Leader._manifests: leader {leader.epoch} reads key part {k} at {state.committed[k]}", state._replace(
                leaders=put(state.leaders, i, leader._replace(read=(*leader.read, state.committed[k]))))
            return
        if not leader.raised:
            raised = max(state.generation, redis.generation) + 1
            yield f"leader {leader.epoch} raises the generation to {raised}", state._replace(
                generation=raised, leaders=put(state.leaders, i, leader._replace(raised=raised)))
            return
        done = state._replace(leaders=rest)
        yield f"install.lua: leader {leader.epoch}, generation {leader.raised}", self._install(done, leader)
        if state.echoes:
            yield f"install.lua: generation {leader.raised}, of which a copy is under way", self._install(
                done, leader)._replace(late=leader, echoes=0)

    def _install(self, state: State, leader: Leader) -> State:
        if state.redis.generation >= leader.raised and self.on("install refuses old generations"):
            return state
        least, stops = min(leader.read), tuple(sorted({p for p in leader.read if p > min(leader.read)}))
        hands = () if self.on("scripts check the generation") else state.hands
        return state._replace(redis=Redis(leader.raised, state.run, leader.epoch, least, stops), hands=hands)

    # -- faults ---------------------------------------------------------------------------------------------------

    def _faults(self, state: State) -> Iterator[tuple[str, State]]:
        if state.losses:
            lost = state._replace(run=state.run + 1, losses=state.losses - 1, saved=None)
            yield "Redis is restarted empty", lost._replace(redis=Redis())
            if state.copies:
                yield "(a replica stays behind)", state._replace(saved=state.redis, copies=0)
            if state.saved and state.saved != state.redis:
                yield "Redis is restarted as the replica has it", lost._replace(redis=state.saved)
        if state.elections and state.leaders:
            yield f"leader {state.epoch} is cut off; Candidate._take_over: leader {state.epoch + 1}", state._replace(
                epoch=state.epoch + 1, elections=state.elections - 1)
        if state.redis.generation and state.redis.run != state.run:
            for k in KEY_PARTS:
                for j, entry in enumerate(state.redis.logs[k]):
                    # A server that went back gives SEQs a second time; then a trim may mean another entry.
                    yield f"trim.lua: key part {k} deletes [{entry[0]},{entry[1]}) by a SEQ used twice", state._replace(
                        redis=state.redis._replace(logs=put(state.redis.logs, k, without(state.redis.logs[k], j))))


class RollBack(Recovery):
    """The same with a Redis that goes back to an earlier moment, as a replica or a cut log does."""

    safeguards = {
        "run id compared": "Leader._recover_if_needed: a server that was restarted is not trusted",
        "positions compared": "QueryState.accept: an entry is merged at its start alone",
        "scripts check the generation": Recovery.safeguards["scripts check the generation"],
    }
    spare = ()

    def start(self) -> State:
        return State(copies=1, elections=0, kills=0, echoes=0)
