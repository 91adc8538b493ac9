"""What a contender's file tells the harness about its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

EXACTLY, AT_LEAST, MAY_LOSE, BEGINS_AGAIN = "exactly once", "at least once", "may lose", "begins again"


@dataclass(frozen=True)
class Setup:
    """What the harness has made ready: the interpreter of the contender's own environment, Java's home, the jars of its
    list, the folder to work in, and the project's root, from which `python -m` finds our modules."""

    python: Path
    java_home: Path
    jars: tuple[Path, ...]
    folder: Path
    root: Path


def visible(out: Path) -> list[Path]:
    """All files of a folder and its subfolders but those whose name begins with a dot or an underscore."""
    return sorted(file for file in out.rglob("*") if file.is_file() and file.name[0] not in "._")


@dataclass(frozen=True)
class Program:
    """A contender that runs as a program of its own, by `protocol`.

    `guarantee` is what its settings promise of each tuple after a crash. `jars` and `packages` name the lists beside the
    contenders' files: Maven jars, and PyPI packages for an environment of its own; empty for none. `tuples_max` bounds the
    size for slow ones. `results` lists the files of a job's folder that a reader may read now."""

    name: str
    title: str
    guarantee: str
    command: Callable[[Setup], list[str]]
    environment: Callable[[Setup], Mapping[str, str]] = field(default=lambda setup: {})
    jars: str = ""
    packages: str = ""
    tuples_max: int | None = None
    results: Callable[[Path], list[Path]] = visible
