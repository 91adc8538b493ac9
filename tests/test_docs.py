"""The documents against the code: settings with their defaults, links, commands, states, counters, metrics, crash points,
znodes and keys, and the rules that comments name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from api.cli.program import mars
from mars import faults
from mars.config import PREFIX, Config
from mars.model import names, registry, sinks
from mars.model.commits import COUNTERS

ROOT = Path(__file__).resolve().parents[1]
FILES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = {file.name: file.read_text() for file in FILES}
EVERYTHING = "\n".join(TEXT.values())
RULES = range(1, 28)


def section(text: str, title: str) -> str:
    """What stands under a heading, down to the next one of its level or above."""
    level = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert level, title
    rest = text[level.end():]
    end = re.search(rf"^#{{1,{len(level[1])}}} ", rest, re.MULTILINE)
    return rest[:end.start()] if end else rest


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, headers left out."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def written(default: object) -> str:
    """A default as the table writes it."""
    if default == "":
        return "empty"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_every_setting_stands_with_its_default() -> None:
    table = {cells[0].strip("`"): cells[1] for cells in rows(section(TEXT["operations.md"], "Settings"))}
    assert table == {name: written(field.default) for name, field in Config.model_fields.items()}


def test_settings_named_elsewhere_exist() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Config.model_fields}
    assert set(re.findall(r"\bMARS_[A-Z_]+\b", EVERYTHING)) - known == set()
    blocks = "\n".join(re.findall(r"```toml\n(.*?)```", EVERYTHING, re.DOTALL))
    assert set(re.findall(r"^(\w+) =", blocks, re.MULTILINE)) <= set(Config.model_fields)


def anchors(text: str) -> set[str]:
    """The anchors that headings get."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_link_leads_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXT[file.name]):
        assert "://" not in target, target
        path, _, anchor = target.partition("#")
        found = (file.parent / path).resolve() if path else file
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found.read_text()), target


def commands() -> Iterator[str]:
    """Every `mars ...` that the documents show, as one line each."""
    for block in re.findall(r"```sh\n(.*?)```", EVERYTHING, re.DOTALL):
        yield from re.findall(r"^(?:\S+/)?(mars\b[^#\n]*)", block, re.MULTILINE)
    prose = re.sub(r"```.*?```", "", EVERYTHING, flags=re.DOTALL)
    yield from re.findall(r"`(mars(?: [^`]+)?)`", prose)


LINES = sorted(set(commands()))


@pytest.mark.parametrize("line", LINES)
def test_every_command_exists(line: str) -> None:
    try:
        words = shlex.split(line)[1:]
    except ValueError:  # a quoted statement that goes on in the next line
        words = line.partition('"')[0].split()[1:]
    command: click.Command = mars
    if words and not words[0].startswith("-"):
        assert words[0] in mars.commands, words[0]
        command = mars.commands[words.pop(0)]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)} <= options | {"--help"}


def test_every_command_is_described() -> None:
    described = {words[1] for line in LINES if len(words := line.split()) > 1}
    assert set(mars.commands) <= described


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = set(re.findall(r"^make (\w+)|`make (\w+)", EVERYTHING, re.MULTILINE))
    assert {"demo", "test", "setup"} <= {name for pair in shown for name in pair if name} <= targets


def test_paths_of_the_project_exist() -> None:
    found = re.findall(r"`((?:mars|mapper|reducer|sql|api|benchmarks|tests)/[\w./]*)`", EVERYTHING)
    assert found
    assert [path for path in found if not (ROOT / path).exists()] == []


def test_states_and_counters() -> None:
    states = re.findall(r"`([A-Z_]+)`", "".join(cells[0] for cells in rows(
        section(TEXT["operations.md"], "States of a query"))))
    assert sorted(states) == sorted([registry.RUNNING, registry.PAUSED, *registry.FAULT_STATES])
    of_sinks = [cells[0].strip("`") for cells in rows(section(TEXT["operations.md"], "Sinks"))]
    assert of_sinks == [sinks.STARTING, sinks.DELIVERING, sinks.WAITING, sinks.PAUSED, sinks.FAILED, sinks.PROGRESS_LOST,
                        sinks.BEHIND_RETENTION]
    assert [cells[0].strip("`") for cells in rows(section(TEXT["operations.md"], "Counters"))] == list(COUNTERS)


def test_metrics() -> None:
    source = "".join((ROOT / "api" / "rest" / name).read_text() for name in ("metrics.py", "sink_metrics.py"))
    made = {f"mars_query_{name}_total" for name in COUNTERS}
    made |= set(re.findall(r'GaugeMetricFamily\("(\w+)"', source))
    assert set(re.findall(r"`(mars_(?:query|workers|sink_)\w*)`", section(TEXT["operations.md"], "Metrics"))) == made


def test_crash_points() -> None:
    listed = re.findall(r"`((?:mapper|reducer|leader|publisher)\.[a-z_]+)`", section(TEXT["development.md"], "Crash points"))
    assert listed == list(faults.POINTS)


def test_znodes_and_keys() -> None:
    text = section(TEXT["architecture.md"], "What is kept where")
    paths = [names.CATALOG, names.LEADER, names.STOP, names.INSTANCE, names.WORKFORCE,
             names.SINKS, names.sink_status("<id>"), names.sink_owner("<id>"), f"{names.SECRETS}/<name>",
             *(f"{folder}/<id>" for folder in (names.CHANGES, names.MAPPERS, names.REDUCERS, names.PUBLISHERS)),
             f"{names.ELECTION}/candidate-<n>", *(f"{names.STREAMS}/<id>/{part}" for part in
             ("generation", "queries", "parts/<k>/owner", "parts/<k>/pointer", "recovery", "broken"))]
    assert set(re.findall(r"`(/mars/[^`]+)`", text)) == set(paths)
    keys = names.Keys(1)
    plain = {value.removeprefix(keys.prefix) for name, value in vars(keys).items() if name != "prefix"}
    numbered = {f"{name}:<{of}>" for name, of in (("lanes", "p"), ("stops", "p"), ("log", "k"),
                                                  ("positions", "k"))}
    table = [cells[0] for cells in rows(text) if not cells[0].startswith("`/")]
    assert set(re.findall(r"`([^`]+)`", "".join(table))) == plain | numbered


def test_rules_are_complete_and_known() -> None:
    text = section(TEXT["architecture.md"], "The rules")
    assert [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)] == list(RULES)
    judged = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    assert [rule for rule in judged if not re.search(r"\*(Kept|Partly|Not yet)", rule)] == []
    sources = [*(ROOT / "mars").rglob("*"), *(ROOT / "mapper").rglob("*.py"), *(ROOT / "reducer").rglob("*.py")]
    named = re.findall(r"\brules? (\d+)", "\n".join(s.read_text() for s in sources if s.suffix in (".py", ".lua")))
    assert {int(number) for number in named} <= set(RULES)
