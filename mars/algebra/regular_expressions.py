"""Regular expressions as they are written in Spark, for RE2: which groups they have, and what replaces a match."""

from __future__ import annotations

import re

# An escape, a class of characters, or the begin of a group: with a name, without one, or special.
TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|"
                   r"\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\((?P<named>\?P?<\w+>)|(?P<special>\(\?)|(?P<plain>\()",
                   re.DOTALL)
REFERENCE = re.compile(r"\\(.)|\$(\d)|(\\|\$)", re.DOTALL)


def group_count(pattern: str) -> int:
    """The number of groups that capture."""
    return sum(bool(match["named"] or match["plain"]) for match in TOKEN.finditer(pattern))


def with_one_group(pattern: str, group: int) -> str:
    """The pattern, in which only that group (0 is the whole) captures, under the name g."""
    if group == 0:
        return f"(?P<g>{with_one_group(pattern, -1)})"
    number = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal number
        if not (match["named"] or match["plain"]):
            return match[0]
        number += 1
        return "(?P<g>" if number == group else "(?:"

    return TOKEN.sub(replaced, pattern)


def groups_named(by: str) -> list[int]:
    """The groups that a replacement names by $1; ValueError if it is not one."""
    found = []
    for match in REFERENCE.finditer(by):
        if match[3]:
            raise ValueError(f"{match[3]} stands alone")
        found += [int(match[2])] if match[2] else []
    return found


def replacement(by: str) -> str:
    r"""RE2's form of a replacement: $1 is a group, and \ takes the next character as it is."""
    def written(match: re.Match[str]) -> str:
        if match[2]:
            return f"\\{match[2]}"
        return "\\\\" if match[1] == "\\" else match[1]

    return REFERENCE.sub(written, by)
