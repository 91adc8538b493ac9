"""The layout in the documents against the folders, and the words of the glossary against the names in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mars.config import Config

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("mars", "mapper", "reducer", "sql", "api")
PACKAGES = (*PRODUCT, "benchmarks")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
DEVELOPMENT = (ROOT / "docs" / "development.md").read_text()
LAYOUT = "## Layout and import rule"
# Words of other systems for what has one here. An identifier that has one of them gets the other name.
SECOND_WORDS = {"shard": "key part", "bucket": "key part", "checkpoint": "commit", "savepoint": "commit",
                "shuffle": "push", "dlq": "dead letter", "rowtime": "event time", "allowance": "watermark"}
UNITS = {"ms", "us", "s", "bytes", "mb", "tuples", "days"}


def folders_of(package: str) -> set[str]:
    """The names of a package's sub-packages."""
    return {folder.name for folder in (ROOT / package).iterdir() if (folder / "__init__.py").exists()}


def modules() -> list[Path]:
    """Every module of the packages."""
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def layout_lines() -> dict[str, str]:
    """What the layout says of each package."""
    block = re.search(r"```\n(mars/.*?)```", ARCHITECTURE.split(LAYOUT)[1], re.DOTALL)
    assert block
    return {line.split("/")[0]: line.split("/", 1)[1] for line in block[1].splitlines()}


def test_every_package_stands_in_the_layout() -> None:
    assert set(layout_lines()) == set(PRODUCT)
    rows = re.findall(r"^\| (`.*?) \|", DEVELOPMENT.split(LAYOUT)[1].split("\n## ")[0], re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == {*PACKAGES, "tests"}
    found = {folder.parent.name for folder in ROOT.glob("*/__init__.py")}
    assert found - {"tests"} == set(PACKAGES)


@pytest.mark.parametrize("package", PRODUCT)
def test_every_sub_package_stands_in_the_layout(package: str) -> None:
    assert folders_of(package) - set(re.findall(r"\w+", layout_lines()[package])) == set()


@pytest.mark.parametrize("package", ["mapper", "reducer"])
def test_every_stage_of_the_layout_is_a_module(package: str) -> None:
    known = {file.stem for file in (ROOT / package).rglob("*.py")} | folders_of(package)
    assert set(re.findall(r"\w+", layout_lines()[package])) - {"join", "joins", "them", "and"} - known == set()


def test_the_root_docstring_names_every_sub_package() -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / "mars" / "__init__.py").read_text()))
    assert docstring
    assert folders_of("mars") - set(re.findall(r"\w+", docstring)) == set()


def test_files_that_the_code_names_exist() -> None:
    named = {(str(file.relative_to(ROOT)), path) for file in modules()
             for path in re.findall(r"\b((?:mars|mapper|reducer|sql|api|benchmarks|tests|docs)/[\w/]+\.(?:py|lua|md))\b",
                                    file.read_text())}
    assert named
    assert [(file, path) for file, path in sorted(named) if not (ROOT / path).exists()] == []


def names_in(file: Path) -> Iterator[str]:
    """Every name that a module gives: to functions, classes, arguments, variables and fields."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words_of(name: str) -> set[str]:
    """The words of a name in either case, plurals as singulars too."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return words | {word.removesuffix("s") for word in words}


def test_what_has_a_word_has_no_second_one() -> None:
    files = [file for file in modules() if file.relative_to(ROOT).parts[0] in PRODUCT]
    found = [f"{file.relative_to(ROOT)}: {name}: say {SECOND_WORDS[word]}" for file in files for name in set(names_in(file))
             for word in words_of(name) & SECOND_WORDS.keys()]
    assert found == []


def test_every_word_of_the_glossary_is_a_word_of_the_code() -> None:
    table = ARCHITECTURE.split("## Words")[1].split("\n## ")[0]
    words = [word.strip() for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)[2:] for word in cell.split(",")]
    assert len(words) > 15
    text = "\n".join(file.read_text() for file in modules()).lower()
    assert [word for word in words if word.lower() not in text and word.lower().replace(" ", "_") not in text] == []


def test_units_stand_last_in_the_names_of_settings() -> None:
    for name in Config.model_fields:
        words = name.split("_")
        last = words[:-1] if words[-1] in ("max", "min") else words
        assert not UNITS & set(last[:-1]), f"{name}: a unit stands last, but for max and min"
