"""A cursor over the words of a statement, for the parts of the grammar that are our own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mars.errors import SqlError
from mars.model.durations import MILLISECONDS, to_milliseconds, unit_of
from sql.read.words import Word
from sql.refusals import closest, refusal, refusal_at
from sql.statements import Name

AMOUNT = re.compile(r"([0-9]{1,100})([A-Za-z]*)")
UNITS = "ms, s, min, h, d, or second, minute, hour, day"


class Reader:
    """Reads words from left to right. Every `take_` method raises SqlError if the next word does not match."""

    def __init__(self, sql: str, words: list[Word], position: int = 0) -> None:
        self.sql = sql
        self.words = words
        self.position = position

    @property
    def word(self) -> Word:
        """The next word; of kind `end` after the last."""
        return self.words[min(self.position, len(self.words) - 1)]

    def advance(self) -> Word:
        """Takes the next word, whatever it is."""
        word = self.word
        self.position += 1
        return word

    def accept(self, *keywords: str) -> Word | None:
        """Takes the next word if it is one of these keywords or symbols."""
        return self.advance() if self.word.is_(*keywords) else None

    def take(self, *keywords: str, hint: str = "") -> Word:
        """Takes one of these keywords or symbols."""
        if self.word.is_(*keywords):
            return self.advance()
        raise self.expected(" or ".join(keywords), hint, keywords)

    def take_name(self, what: str) -> Word:
        """Takes a name; `what` says what it names, for the error."""
        if self.word.kind in ("name", "quoted") and self.word.value:
            return self.advance()
        raise self.expected(f"the name of {what}", "put a name with other characters in backticks: `a b`")

    def take_text(self, what: str) -> Word:
        """Takes a text in single quotes."""
        if self.word.kind == "text":
            return self.advance()
        raise self.expected(f"{what} in single quotes", f"write '{self.word.value or '...'}'")

    def take_topic(self) -> Word:
        """Takes the name of a Kafka topic in single quotes."""
        word = self.take_text("the topic")
        if not word.value:
            raise refusal_at(self.sql, word, "the topic has no name", "", "write the topic's name between the quotes")
        return word

    def take_duration(self, clause: str, zero: bool = False) -> int:
        """Takes a duration such as `60 s` or `60s` and gives milliseconds; `zero` allows a delay of 0."""
        first = self.word
        match = amount(first)
        if match is None:
            raise self.expected("a duration: a whole number above 0 and a unit", f"write {clause} 60 s")
        last = self.advance()
        digits, unit_word = match.groups()
        if not unit_word and self.word.kind == "name" and unit_of(self.word.value):
            last = self.advance()
            unit_word = last.value
        unit = unit_of(unit_word)
        if unit is None:
            raise refusal_at(self.sql, first, f"{clause} needs a unit of time",
                          f"the units are {UNITS}", f"write {clause} {digits} s")
        milliseconds = to_milliseconds(int(digits), unit)
        if milliseconds is None and not (zero and int(digits) == 0):
            raise refusal(self.sql, first.start, last.end, f"{clause} cannot be {digits} {unit}",
                          "a duration must be above 0 and at most a hundred years", f"write {clause} 60 s")
        return milliseconds or 0

    def take_whole(self, most: int, hint: str) -> int:
        """Takes a whole number from 1 to `most`."""
        text = self.word.value
        if self.word.kind != "number" or not (text.isascii() and text.isdigit()) or not 1 <= int(text[:20]) <= most:
            raise self.expected(f"a whole number from 1 to {most}", hint)
        return int(self.advance().value)

    def take_end(self) -> None:
        """Takes the end of the statement, with or without a semicolon."""
        self.accept(";")
        if self.word.kind != "end":
            raise refusal_at(self.sql, self.word, f"unexpected {self.shown()}",
                             "the statement was complete before it",
                             "one statement at a time; remove the rest")

    def shown(self) -> str:
        """The next word for an error message."""
        return self.sql[self.word.start:self.word.end] or "end of the statement"

    def expected(self, what: str, hint: str = "", keywords: Sequence[str] = ()) -> SqlError:
        """The refusal of the next word, because something else is expected."""
        near = closest(self.word.value, keywords) if self.word.kind == "name" else None
        hint = hint or "write " + " or ".join(keywords)
        return refusal_at(self.sql, self.word, f"unexpected {self.shown()}", f"expected {what}",
                          f"did you mean {near}?" if near else hint)


def as_name(word: Word) -> Name:
    """A word as a name of a statement, with its place."""
    return Name(word.value, word.start, word.end)


def amount(word: Word) -> re.Match[str] | None:
    """The digits and letters of a whole number with or without letters: `60s` is a number in Spark, and `60min` a name."""
    return AMOUNT.fullmatch(word.value) if word.kind in ("number", "name") else None


def is_duration(words: list[Word], index: int) -> bool:
    """True if words[index] is a number with a unit, or before one."""
    match = amount(words[index])
    if match is None:
        return False
    return unit_of(match[2] or words[min(index + 1, len(words) - 1)].value) in MILLISECONDS
