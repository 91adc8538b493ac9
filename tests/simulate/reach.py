"""Which functions of the workers' code simulated runs call."""

from __future__ import annotations

import ast
import cProfile
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

from tests.simulate.run import run

ROOT = Path(__file__).resolve().parents[2]


def functions(folders: Iterable[str]) -> set[str]:
    """Each function and method of these folders, as `file:qualified name`. Those inside of others are not counted."""
    return {f"{file.relative_to(ROOT)}:{name}" for folder in folders for file in (ROOT / folder).rglob("*.py")
            for name in _names(ast.parse(file.read_text()).body, "")}


def _names(body: list[ast.stmt], prefix: str) -> Iterable[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{prefix}{node.name}.")


def reached(seeds: Iterable[int]) -> set[str]:
    """The functions that these runs call, in all of their threads, which are greenlets of one thread."""
    profile = cProfile.Profile()
    for seed in seeds:
        profile.runcall(run, seed)
    codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
    return {f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_qualname}" for code in codes
            if code.co_filename.startswith(f"{ROOT}/")}
