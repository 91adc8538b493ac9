"""Spark's patterns of dates and times ('yyyy-MM-dd HH:mm:ss'): which parts a pattern has, and which patterns Mars takes.

A pattern is either written (date_format) or read (to_timestamp). Only patterns with one meaning are taken: when a text is
read, each field comes once, and it is clear where a number ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from mars.algebra.coercion import TypeMismatch

# The greatest number of letters of each field.
WRITTEN = {"y": 6, "M": 4, "d": 2, "D": 3, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "E": 4}
READ = {letter: most for letter, most in WRITTEN.items() if letter != "E"}
NAMES = ("'yyyy', 'yy', 'y' (year), 'MM', 'M' (month), 'MMM', 'MMMM' (its name), 'dd', 'd' (day), "
         "'DDD', 'D' (day of the year), "
         "'HH', 'H' (hour), 'hh', 'h' and 'a' (hour with AM or PM), 'mm', 'ss', 'S' to 'SSSSSSSSS' (fraction)")
TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", re.DOTALL)
RESERVED = "[]{}#"


@dataclass(frozen=True)
class Part:
    """`count` letters of a field, or a text, which has no letter."""

    letter: str
    count: int
    text: str

    @property
    def is_number(self) -> bool:
        """Is the field written in digits?"""
        return self.letter not in ("", "a", "E") and not (self.letter == "M" and self.count > 2)

    @property
    def is_fixed(self) -> bool:
        """Has the number a fixed number of digits when it is read?"""
        return self.count == (3 if self.letter == "D" else 2) or (self.letter == "y" and self.count > 3)


def written(pattern: str) -> list[Part]:
    """The parts of a pattern that times are written by; TypeMismatch if it is not one."""
    return _parts(pattern, WRITTEN, NAMES + ", 'E', 'EEEE' (day of the week)")


def read(pattern: str) -> list[Part]:
    """The parts of a pattern that texts are read by; TypeMismatch if it is not one."""
    parts = _parts(pattern, READ, NAMES)
    letters = [part.letter for part in parts if part.letter]
    twice = next((letter for letter in letters if letters.count(letter) > 1), None)
    if twice:
        raise TypeMismatch(f"the pattern has {twice} twice", "write each field once")
    for one, more in (("D", "Md"), ("H", "ha")):
        if one in letters and any(letter in letters for letter in more):
            raise TypeMismatch(f"a pattern with {one} has no {' or '.join(more)}", "write yyyy-MM-dd, or hh and a")
    if ("a" in letters) != ("h" in letters):
        raise TypeMismatch("h and a belong together", "write HH, or hh and a")
    if "D" in letters and "y" not in letters:
        raise TypeMismatch("the day of the year needs a year", "write yyyy-DDD")
    for part, following in pairwise(parts):
        digits = following.is_number or following.text[:1].isdigit()
        fixed = part.is_fixed or (following.is_fixed and part.letter != "S")
        if part.is_number and digits and not (fixed and following.letter):
            raise TypeMismatch(f"it is not clear where {part.letter * part.count} ends",
                               "write something between both numbers")
    return parts


def _parts(pattern: str, most: dict[str, int], names: str) -> list[Part]:
    parts: list[Part] = []
    place = 0
    while place < len(pattern):
        match = TOKEN.match(pattern, place)
        token = match[0] if match else pattern[place]
        if match is None or token in RESERVED:
            raise TypeMismatch(f"{token} does not belong into a pattern", "put text into quotes: 'yyyy-MM-dd''T''HH:mm'")
        place = match.end()
        letter = match[2] or ""
        if letter and len(token) > most.get(letter, 0):
            raise TypeMismatch(f"the pattern's {token} is none of these: {names}",
                               "write one of them, and put text into quotes: 'yyyy-MM-dd''T''HH:mm'")
        text = "" if letter else token if match[1] is None else match[1].replace("''", "'") or "'"
        if not letter and parts and not parts[-1].letter:
            parts[-1] = Part("", 0, parts[-1].text + text)
        else:
            parts.append(Part(letter, len(token) if letter else 0, text))
    return parts
