"""Who decides in the laboratory: Mars's own rules, a reactive scaler, and whoever never changes anything."""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

from benchmarks.elasticity_plant import KINDS, LEAST, MOST, Plant
from mars.scaling.alarm import Alarm
from mars.scaling.choice import Forecaster
from mars.scaling.decide import HIGH_LOAD, PERIOD, Decision, Memory, Policy, Situation, decide
from mars.scaling.load import Stage


class Scaler(Protocol):
    """Called after each second with what arrived in it; it tells the plant what it wants."""

    def second(self, plant: Plant, arrived: float) -> None: ...


class Fixed:
    """Changes nothing."""

    def second(self, plant: Plant, arrived: float) -> None:
        pass


class Predictive:
    """mars/scaling, driven as api/instance/scaling.py drives it."""

    def __init__(self, season: int, policy: Policy = Policy(LEAST, MOST)) -> None:  # noqa: B008 it is frozen
        self.policy, self.forecaster, self.memory, self.alarm = policy, Forecaster(season), Memory(), Alarm()
        self.seconds: deque[tuple[float, tuple[Stage, ...]]] = deque(maxlen=int(policy.period_s))
        self.decisions: list[Decision] = []

    def second(self, plant: Plant, arrived: float) -> None:
        self.seconds.append((arrived, plant.stages()))
        surplus = sum(line.waiting for line in plant.lines.values())
        is_high = any([self.alarm.look(self.seconds[-1][1][0], surplus, self._speed())])
        if plant.now % self.policy.period_s == 0:
            self.forecaster.learn(sum(rate for rate, _ in self.seconds) / len(self.seconds))
            self._decide(plant, surplus, PERIOD)
        elif is_high:
            self._decide(plant, surplus, HIGH_LOAD)

    def _speed(self) -> float | None:
        known = self.memory.stages.get(KINDS[0])
        return known.speed if known else None

    def _decide(self, plant: Plant, surplus: float, trigger: str) -> None:
        last = list(self.seconds)[-10:]
        stages = tuple(Stage(kind, sum(of[place].offsets for _, of in self.seconds), sum(of[place].busy_s for _, of in self.seconds),
                             plant.wanted[kind]) for place, kind in enumerate(KINDS))
        situation = Situation(plant.now, plant.wanted, stages, surplus, sum(rate for rate, _ in last) / len(last),
                              self.forecaster.forecast(), trigger)
        decision, self.memory = decide(self.policy, situation, self.memory)
        if decision.changes:
            self.decisions.append(decision)
            plant.want(decision.wanted)


class Reactive:
    """The rules and defaults of the autoscaler of Flink's Kubernetes operator: rates over a window of 15 minutes, a target
    utilisation of 0.7 and a boundary of 0.3 around it, 5 minutes of rest after a change, half an hour to catch up. Each stage
    is judged by itself, by what its workers do while busy. A change costs it no more than it costs Mars; there a job starts
    again."""

    WINDOW_S, REST_S, TARGET, BOUNDARY, CATCH_UP_S, EACH_S = 900, 300, 0.7, 0.3, 1_800, 60

    def __init__(self) -> None:
        self.rates: deque[float] = deque(maxlen=self.WINDOW_S)
        self.changed_at = -math.inf

    def second(self, plant: Plant, arrived: float) -> None:
        self.rates.append(arrived)
        if plant.now % self.EACH_S or plant.now - self.changed_at < self.REST_S:
            return
        rate, wanted = sum(self.rates) / len(self.rates), plant.wanted
        for stage in plant.stages():
            line = plant.lines[stage.kind]
            if not stage.speed:
                continue
            catch_up, capacity = line.waiting / self.CATCH_UP_S, stage.workers * stage.speed
            least = rate / (self.TARGET + self.BOUNDARY) + catch_up
            most = rate / (self.TARGET - self.BOUNDARY) + catch_up
            if least <= capacity <= most:
                continue
            count = math.ceil((rate / self.TARGET + catch_up) / stage.speed)
            wanted[stage.kind] = min(max(count, LEAST[stage.kind]), MOST[stage.kind])
        if wanted != plant.wanted:
            plant.want(wanted)
            self.changed_at = plant.now
