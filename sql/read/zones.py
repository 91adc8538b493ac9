"""AT TIME ZONE 'name': whose midnights windows of whole days begin at."""

from __future__ import annotations

from mars.algebra.windows import zones
from mars.model.durations import MILLISECONDS, format_duration
from sql.read.reader import Reader
from sql.read.words import Word
from sql.refusals import did_you_mean, refusal, refusal_at

DAY_MS = MILLISECONDS["d"]


def take(reader: Reader, size_ms: int) -> str | None:
    """The zone, if one is named here, of windows of this length; SqlError if there is none of that name, or if the windows
    are not of whole days."""
    first = reader.word
    if not reader.accept("AT"):
        return None
    for word in ("TIME", "ZONE"):
        reader.take(word, hint="write AT TIME ZONE 'Europe/Berlin'")
    place = reader.take_text("a time zone")
    if place.value not in zones.names():
        raise refusal_at(reader.sql, place, f"there is no time zone '{place.value}'",
                         "zones have the names of the IANA's data, such as Europe/Berlin, with these capitals",
                         did_you_mean(place.value, zones.names(), "write AT TIME ZONE 'UTC', or the zone of a large city"))
    if size_ms % DAY_MS:
        raise refusal(reader.sql, first.start, place.end, "AT TIME ZONE needs windows of whole days",
                      f"{format_duration(size_ms)} is no whole number of days, so windows would not begin at midnight",
                      "leave it out, or write WINDOWING 1 d AT TIME ZONE or LANDMARK EACH DAY AT TIME ZONE")
    return place.value


def check_days(reader: Reader, first: Word, keyword: str, milliseconds: int) -> None:
    """SqlError if a step or an offset of windows in a zone is not of whole days. It begins at `first`."""
    if milliseconds % DAY_MS:
        days_ms = -(-abs(milliseconds) // DAY_MS) * DAY_MS
        raise refusal(reader.sql, first.start, reader.words[reader.position - 1].end,
                      f"with AT TIME ZONE, {keyword} takes whole days", "windows begin at midnight there",
                      f"write {keyword} {format_duration(days_ms)}, or leave it out")
