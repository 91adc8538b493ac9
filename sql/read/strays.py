"""Parts of our clauses in places where no clause takes them. They are recognised, and refused with what was meant.

Plain SQL never has these words in these places, so nothing else is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping

from mars.errors import SqlError
from sql.read import windowing
from sql.read.reader import is_duration
from sql.read.words import Word
from sql.refusals import refusal

KINDS = ("SESSION", "SLIDING", "TUMBLING", "HOPPING", "LANDMARK", "COUNT")
FATES = ("DROP", "UPDATE", "TO")
ORDER = "the order is WATERMARK d IDLE d MAXAHEAD d, then GRACE d"


def stray(sql: str, words: list[Word], index: int, places: Mapping[str, tuple[int, int]]) -> SqlError | None:
    """The refusal of words[index], which follows the end of an expression or a clause; None if it is allowed there.
    `places` has (start, end) of the clauses before it."""
    word, following = words[index], words[min(index + 1, len(words) - 1)]
    if word.is_("IDLE", "MAXAHEAD") and (is_duration(words, index + 1) or (word.is_("IDLE") and following.is_("OFF"))):
        last = words[index + 1] if following.is_("OFF") or is_whole(following) else words[index + 2]
        part = " ".join(sql[word.start:last.end].split())
        return refusal(sql, word.start, last.end, f"{word.value.upper()} must follow WATERMARK", ORDER,
                       f"write {written(sql, places, 'WATERMARK', '5 s')} {part}")
    if word.is_("AT") and following.is_("TIME"):
        return refusal(sql, word.start, following.end, "AT TIME ZONE must follow whole days",
                       "it says at whose midnights windows of WINDOWING d or LANDMARK EACH d begin",
                       "write WINDOWING 1 d AT TIME ZONE 'Europe/Berlin', or LANDMARK EACH DAY AT TIME ZONE ...")
    if word.is_(*KINDS) and (is_duration(words, index + 1) or following.is_("GAP", "EACH") or following.kind == "number"):
        return refusal(sql, word.start, following.end, f"{word.value.upper()} without WINDOWING",
                       "a window begins with WINDOWING", windowing.KINDS)
    return None


def is_whole(word: Word) -> bool:
    """True for a duration in one word: 2s."""
    return not word.value.isdigit()


def written(sql: str, places: Mapping[str, tuple[int, int]], keyword: str, duration: str) -> str:
    """The clause as it is in the statement, or as it could be."""
    start, end = places.get(keyword, (0, 0))
    return " ".join(sql[start:end].split()) or f"{keyword} {duration}"
