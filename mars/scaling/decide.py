"""Whether other numbers of workers are worth a change, and which: one change for all kinds, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mars.scaling.choice import Forecast
from mars.scaling.load import Stage, load, workers_for
from mars.scaling.ratio import following, links, ratios

PERIOD, HIGH_LOAD = "period", "high load"  # what a decision was made for


@dataclass(frozen=True)
class Policy:
    """`target` is the load that workers are sized for, `band` how far from it nothing is changed. Fewer workers come only
    after `quiet_periods` in a row that need fewer, `cool_down_s` after the last change, and while no more waits than comes
    in `rest_s`. What waits is to be done after `catch_up_s`. `least` and `most` are by kind, in the order of the stages."""

    least: Mapping[str, int]
    most: Mapping[str, int]
    period_s: float = 60.0
    target: float = 0.8
    band: float = 0.1
    sigma: float = 0.9
    margin: float = 1.0  # of the forecast's error, on top of it
    quiet_periods: int = 2
    cool_down_s: float = 180.0
    catch_up_s: float = 30.0
    rest_s: float = 3.0
    start_s: float = 10.0  # until a further worker works: nothing is added to what was just added


@dataclass(frozen=True)
class Situation:
    """What is known at `at_s`: the wanted numbers, what the stages did in the last period, the offsets that wait, the rate
    of the last seconds, and the forecast."""

    at_s: float
    wanted: Mapping[str, int]
    stages: tuple[Stage, ...]
    surplus: float
    rate: float
    forecast: Forecast | None
    trigger: str = PERIOD


@dataclass(frozen=True)
class Memory:
    """What one decision leaves for the next. `speeds` are the last known ones, as idle workers show none."""

    quiet: int = 0
    changed_at_s: float = float("-inf")
    stages: Mapping[str, Stage] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """`wanted` are the numbers after it; `why` is a sentence; `inputs` are all figures that it came from."""

    at_s: float
    trigger: str
    before: dict[str, int]
    wanted: dict[str, int]
    why: str
    inputs: dict[str, object]

    @property
    def changes(self) -> bool:
        """Are other numbers wanted than before?"""
        return self.wanted != self.before


def decide(policy: Policy, situation: Situation, memory: Memory) -> tuple[Decision, Memory]:
    """The decision, and what is to be remembered if it is carried out."""
    known = {**memory.stages, **{stage.kind: stage for stage in situation.stages if stage.speed}}
    memory = replace(memory, stages=known)
    stages = [known.get(stage.kind, stage) for stage in situation.stages]
    before = dict(situation.wanted)
    rate = _rate(policy, situation)
    speed = stages[0].speed
    inputs: dict[str, object] = {
        "rate": round(rate, 1), "rate_now": round(situation.rate, 1), "surplus": round(situation.surplus), **_told(situation),
        "speeds": {stage.kind: round(stage.speed, 1) for stage in stages if stage.speed}, "target": policy.target,
        "sigma": policy.sigma, "period_s": policy.period_s}
    if speed is None:
        return _stay(situation, inputs, "no worker has been busy yet, so nothing is known of their speed"), memory
    seconds = policy.period_s if situation.trigger == PERIOD else policy.catch_up_s
    first, found = stages[0].kind, ratios(links(stages), policy.sigma)
    needed = _bounded(policy, workers_for(situation.surplus, rate, speed, policy.target, seconds), stages, found)
    now = load(situation.surplus, rate, speed, before[first], seconds)
    inputs |= {"load": round(now, 3), "ratios": [round(one, 3) for one in found], "needed": needed}
    if _is_short(policy, needed, before, now):
        return _more(policy, situation, memory, needed, inputs)
    fewer = _bounded(policy, workers_for(situation.surplus, rate, speed, policy.target - policy.band, seconds), stages, found)
    return _fewer(policy, situation, memory, {kind: min(fewer[kind], before[kind]) for kind in before}, rate, inputs)


def _rate(policy: Policy, situation: Situation) -> float:
    """What is to be carried: the greatest of the coming periods' rates, with a margin; at high load also what comes now."""
    forecast = situation.forecast
    ahead = max(forecast.rates) + policy.margin * forecast.error if forecast else situation.rate
    return max(ahead, situation.rate) if situation.trigger == HIGH_LOAD or forecast is None else ahead


def _bounded(policy: Policy, first: int, stages: list[Stage], found: list[float]) -> dict[str, int]:
    """Whole workers by kind, within the bounds. If there may be too few of the first stage, the others follow what it can
    give; and a stage that has never been busy keeps the least."""
    kinds = [stage.kind for stage in stages]
    first = min(max(first, policy.least[kinds[0]]), policy.most[kinds[0]])
    return {kind: min(max(count, policy.least[kind]), policy.most[kind])
            for kind, count in zip(kinds, following(first, found), strict=True)}


def _is_short(policy: Policy, needed: Mapping[str, int], before: Mapping[str, int], now: float) -> bool:
    first, *others = needed
    return (needed[first] > before[first] and now > policy.target + policy.band) or \
        any(needed[kind] > before[kind] for kind in others)


def _more(policy: Policy, situation: Situation, memory: Memory, needed: dict[str, int],
          inputs: dict[str, object]) -> tuple[Decision, Memory]:
    before = dict(situation.wanted)
    if situation.at_s - memory.changed_at_s < policy.start_s:
        return _stay(situation, inputs, "more are needed, but the last change has only just been made"), memory
    wanted = {kind: max(needed[kind], count) for kind, count in before.items()}
    why = f"the load of {inputs['load']} is above {policy.target + policy.band:.2f}, or a later stage cannot follow"
    return Decision(situation.at_s, situation.trigger, before, wanted, why, inputs), \
        replace(memory, quiet=0, changed_at_s=situation.at_s)


def _fewer(policy: Policy, situation: Situation, memory: Memory, needed: dict[str, int], rate: float,
           inputs: dict[str, object]) -> tuple[Decision, Memory]:
    """Fewer workers, if that has been so for a while and nothing waits; else none is retired."""
    before = dict(situation.wanted)
    if situation.trigger != PERIOD:
        return _stay(situation, inputs, "there are enough workers for what waits and comes"), memory
    if needed == before:
        return _stay(situation, inputs, "the load is within the band around the target"), replace(memory, quiet=0)
    if situation.surplus > policy.rest_s * max(rate, situation.rate):
        return _stay(situation, inputs, "fewer would do, but more waits than comes in a moment"), replace(memory, quiet=0)
    quiet = memory.quiet + 1
    if quiet < policy.quiet_periods:
        return _stay(situation, inputs, f"fewer would do, for {quiet} of {policy.quiet_periods} periods"), \
            replace(memory, quiet=quiet)
    if situation.at_s - memory.changed_at_s < policy.cool_down_s:
        return _stay(situation, inputs, "fewer would do, but the last change is not long ago"), replace(memory, quiet=quiet)
    return Decision(situation.at_s, situation.trigger, before, needed,
                    f"fewer have been enough for {quiet} periods, and nothing waits", inputs), \
        replace(memory, quiet=0, changed_at_s=situation.at_s)


def _stay(situation: Situation, inputs: dict[str, object], why: str) -> Decision:
    before = dict(situation.wanted)
    return Decision(situation.at_s, situation.trigger, before, dict(before), why, inputs)


def _told(situation: Situation) -> dict[str, object]:
    forecast = situation.forecast
    if forecast is None:
        return {"forecast": None}
    return {"forecast": [round(rate, 1) for rate in forecast.rates], "model": forecast.model,
            "error": round(forecast.error, 1), "errors": {name: round(error, 1) for name, error in forecast.errors.items()}}
