"""The protocol's models: each holds in every order of steps and faults, and breaks without any one of its safeguards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model.explore import Model, explore
from tests.model.models import MODELS, removals, whole

ROOT = Path(__file__).resolve().parents[2]
# 15 is about the room that entries take in Redis, 26 about what is read: no step of the protocol depends on either.
WITHOUT_STATE = {15, 26}


def named(model: Model) -> str:
    """A model with what it lacks."""
    return "-".join([type(model).__name__, *sorted(model.off)])


@pytest.mark.parametrize("model", whole(), ids=named)
def test_no_order_of_steps_breaks_the_protocol(model: Model) -> None:
    outcome = explore(model)
    assert outcome.broken is None, str(outcome)
    assert outcome.states > 20


@pytest.mark.parametrize("model", list(removals()), ids=named)
def test_without_a_safeguard_there_is_a_counterexample(model: Model) -> None:
    outcome = explore(model)
    assert outcome.broken, str(outcome)
    assert outcome.way or outcome.broken.startswith("STANDS STILL")


def test_every_rule_with_a_state_has_a_model() -> None:
    modelled = {rule for model in MODELS for rule in model.rules}
    assert modelled == set(range(1, 28)) - WITHOUT_STATE


def functions(text: str) -> Iterator[str]:
    """What a safeguard's description names: `Class.method`, `module.function` or a script."""
    yield from re.findall(r"[\w/]*\w+\.\w+", text.partition(":")[0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_safeguards_name_places_that_exist(model: type[Model]) -> None:
    folders = [ROOT / name for name in ("mars", "mapper", "reducer", "api")]
    sources = {file: file.read_text() for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".lua")}
    for text in model.safeguards.values():
        for name in functions(text):
            first, last = name.rsplit(".", 1)
            if last in ("py", "lua"):
                found = any(str(file).endswith(f"/{name.rsplit('/', 1)[-1]}") for file in sources)
            else:
                owner = first.rsplit("/", 1)[-1]
                found = any(re.search(rf"\b(def|class) {last}\b", source) for file, source in sources.items()
                            if f"class {owner}" in source or file.stem == owner)
            assert found, (text, name)
