"""How a scalar function is declared."""

from __future__ import annotations

from dataclasses import dataclass

from mars.algebra.signatures import Rule


@dataclass(frozen=True)
class Function:
    """`maximum` None is any number of arguments. `spelling` is how a user writes it, for operators too."""

    name: str
    minimum: int
    maximum: int | None
    rule: Rule
    spelling: str
    doc: str
