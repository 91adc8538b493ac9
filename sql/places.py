"""The place of a node of sqlglot's tree in the user's text, and the name of a plain call."""

from __future__ import annotations

from sqlglot import exp

CALL = "call "


def span(node: exp.Expr | None) -> tuple[int, int]:
    """(start, end) of a node's text: of its own words, else of the nearest node around it that has any."""
    while node is not None:
        places = [n.meta for n in node.walk() if "start" in n.meta]
        if places:
            return min(m["start"] for m in places), max(m["end"] for m in places) + 1
        node = node.parent
    return 0, 0


def call_name(node: exp.Expr) -> str:
    """The name of a plain call as the user wrote it; '' for any other node."""
    return node.name.removeprefix(CALL) if isinstance(node, exp.Anonymous) else ""
