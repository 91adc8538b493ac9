"""The windows of this dialect as other systems write them. They become the same Window, and the same plan.

    FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), size [, offset]))             Flink, GROUP BY window_start, window_end, ...
    FROM TABLE(HOP(TABLE s, DESCRIPTOR(t), step, size [, offset]))
    FROM TABLE(CUMULATE(TABLE s, DESCRIPTOR(t), step, size))
    FROM TABLE(SESSION(TABLE s [PARTITION BY keys], DESCRIPTOR(t), gap))
    GROUP BY window(t, '60 seconds' [, '10 seconds' [, '5 seconds']]), ...   Spark, with window.start, window.end in SELECT
    GROUP BY session_window(t, '5 minutes'), ...                             and session_window.start, session_window.end

https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/sql/queries/window-tvf/
https://spark.apache.org/docs/latest/api/sql/index.html#window, #session_window
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType

from mars.errors import SqlError
from mars.model.durations import format_duration
from mars.model.plan import Window
from sql.read.reader import Reader
from sql.read.windowing import session, side_by_side
from sql.read.words import Word, read_words
from sql.refusals import refusal, refusal_at

TVF_HINT = "write FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '60' SECOND)), or FROM s and WINDOWING 60 s"
SPARK_HINT = "write window(t, '60 seconds'), or WINDOWING 60 s"


@dataclass(frozen=True)
class Spelled:
    """A window, the column that it says is the event time, and where it stands: sql[start:end]. `partition` are the names
    of PARTITION BY, None without one."""

    window: Window
    time: Word
    start: int
    end: int
    partition: tuple[Word, ...] | None = None


def begins_table(words: list[Word], index: int) -> bool:
    """Is words[index] the FROM of a table function?"""
    return words[index].is_("FROM") and words[min(index + 1, len(words) - 1)].is_("TABLE") \
        and words[min(index + 2, len(words) - 1)].is_("(")


def read_table(reader: Reader) -> tuple[list[Word], Spelled]:
    """The words `FROM s` in place of the table function at the reader, and its window."""
    from_ = reader.advance()
    for symbol in ("TABLE", "("):
        reader.take(symbol, hint=TVF_HINT)
    function = reader.take_name("a window function")
    kind = function.value.upper()
    if kind not in FUNCTIONS:
        raise refusal_at(reader.sql, function, f"unknown window function {function.value}",
                         "there are TUMBLE, HOP, CUMULATE and SESSION", TVF_HINT)
    reader.take("(", hint=TVF_HINT)
    reader.take("TABLE", hint=TVF_HINT)
    stream = reader.take_name("the stream")
    partition = _partition(reader) if reader.word.is_("PARTITION BY") and kind == "SESSION" else None
    for symbol in (",", "DESCRIPTOR", "("):
        reader.take(symbol, hint=TVF_HINT)
    time = reader.take_name("the event-time column")
    reader.take(")", hint=TVF_HINT)
    lengths = []
    while reader.accept(","):
        lengths.append(_interval(reader))
    end = reader.take(")", hint=TVF_HINT).end
    reader.take(")", hint=TVF_HINT)
    least, most, made = FUNCTIONS[kind]
    if not least <= len(lengths) <= most:
        raise refusal(reader.sql, function.start, end, f"{kind} does not take {len(lengths)} intervals", "", TVF_HINT)
    window = _checked(reader, function.start, end, made(*lengths))
    return [from_, stream], Spelled(window, time, function.start, end, partition)


def _partition(reader: Reader) -> tuple[Word, ...]:
    """PARTITION BY a, b; up to the comma before DESCRIPTOR."""
    reader.advance()
    names = [reader.take_name("a key")]
    while reader.word.is_(",") and not reader.words[reader.position + 1].is_("DESCRIPTOR"):
        reader.advance()
        names.append(reader.take_name("a key"))
    return tuple(names)


def replace_call(sql: str, words: list[Word]) -> tuple[list[Word], Spelled | None]:
    """The words with window_start in place of the call `window(...)` or `session_window(...)` in GROUP BY, and its window;
    the words as they are, and None, if there is none. `window.start` and `window.end` become window_start and window_end
    with it."""
    group = next((i for i, word in enumerate(words) if word.is_("GROUP BY")), len(words))
    at = next((i for i in range(group, len(words) - 1) if words[i].is_(*CALLS) and words[i + 1].is_("(")
               and words[i - 1].is_("GROUP BY", ",")), None)
    if at is None:
        return words, None
    reader = Reader(sql, words, at + 2)
    time = reader.take_name("the event-time column")
    lengths: list[int] = []
    while reader.accept(","):
        lengths.append(_text_duration(reader, zero=len(lengths) == 2))
    end = reader.take(")", hint=SPARK_HINT).end
    name = words[at].value
    most, made = CALLS[name.upper()]
    if not 1 <= len(lengths) <= most:
        raise refusal(sql, words[at].start, end, f"{name} does not take {len(lengths)} lengths", "", SPARK_HINT)
    window = _checked(reader, words[at].start, end, made(*lengths))
    rest = [*words[:at], _named(words[at], "window_start"), *words[reader.position:]]
    return _without_struct(rest, name.upper()), Spelled(window, time, words[at].start, end)


def _without_struct(words: list[Word], struct: str) -> list[Word]:
    kept: list[Word] = []
    for word in words:
        if len(kept) > 1 and kept[-1].is_(".") and kept[-2].is_(struct) and word.is_("START", "END"):
            kept[-2:] = [_named(word, f"window_{word.value.lower()}")]
        else:
            kept.append(word)
    return kept


def _named(word: Word, name: str) -> Word:
    token = word.tokens[0]
    made = Token(TokenType.VAR, name, line=token.line, col=token.col, start=token.start, end=token.end)
    return Word("name", name, word.start, word.end, (made,))


def _interval(reader: Reader) -> int:
    """INTERVAL '60' SECOND, as milliseconds."""
    first = reader.take("INTERVAL", hint=TVF_HINT)
    amount, unit = reader.advance(), reader.advance()
    milliseconds = _milliseconds(f"{amount.value} {unit.value}")
    if milliseconds is None:
        raise refusal(reader.sql, first.start, unit.end, "this is no length of a window",
                      "an interval is a whole number above 0 and one unit, DAY at the most", "write INTERVAL '60' SECOND")
    return milliseconds


def _text_duration(reader: Reader, zero: bool) -> int:
    """'60 seconds', as milliseconds."""
    text = reader.take_text("a length of time")
    milliseconds = _milliseconds(text.value, zero)
    if milliseconds is None:
        raise refusal_at(reader.sql, text, f"'{text.value}' is no length of a window",
                         "it is a whole number above 0 and one unit", SPARK_HINT)
    return milliseconds


def _milliseconds(text: str, zero: bool = False) -> int | None:
    """A duration as the dialect writes it; None for any other text."""
    try:
        reader = Reader(text, read_words(text))
        milliseconds = reader.take_duration("", zero=zero)
        reader.take_end()
    except SqlError:
        return None
    return milliseconds


def _window(size_ms: int, every_ms: int | None = None, offset_ms: int = 0) -> Window:
    return side_by_side(size_ms, size_ms if every_ms is None else every_ms, offset_ms)


def _tumble(size_ms: int, offset_ms: int = 0) -> Window:
    return side_by_side(size_ms, size_ms, offset_ms)


def _hop(step_ms: int, size_ms: int, offset_ms: int = 0) -> Window:
    return side_by_side(size_ms, step_ms, offset_ms)


def _cumulate(step_ms: int, size_ms: int) -> Window:
    return Window("landmark each", size_ms, step_ms)


def _checked(reader: Reader, start: int, end: int, window: Window) -> Window:
    """The window; SqlError unless its lengths fit each other."""
    step_ms = window.every_ms or window.size_ms
    if step_ms > window.size_ms or (window.offset_ms or 0) >= step_ms \
            or (window.kind == "landmark each" and window.size_ms % step_ms):
        lengths = ", ".join(format_duration(ms) for ms in (step_ms, window.size_ms, window.offset_ms or 0))
        raise refusal(reader.sql, start, end, "the lengths of the window do not fit each other",
                      f"step, size and offset are {lengths}",
                      "give a step that is at most the size (CUMULATE: a divisor of it), and an offset below the step")
    return window


# By name: the least and the greatest number of intervals, and what makes the window of them.
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Window]]] = {
    "TUMBLE": (1, 2, _tumble), "HOP": (2, 3, _hop), "CUMULATE": (2, 2, _cumulate), "SESSION": (1, 1, session)}
# By name: the greatest number of lengths, and what makes the window of them.
CALLS: dict[str, tuple[int, Callable[..., Window]]] = {"WINDOW": (3, _window), "SESSION_WINDOW": (1, session)}
