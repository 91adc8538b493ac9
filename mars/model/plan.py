"""Streams and query plans: the frozen result of compiling one statement, and the only thing that sql hands on.

Event time is an int64 in the stream's own `time_unit` from reading to result, so that nothing is rounded on the way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property

import orjson

from mars.model import expressions
from mars.model.expressions import Expression
from mars.model.partials import CHANGED, GROWING, AggregateCall, Partial, kept_apart, more_from_json, more_to_json

UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class StreamColumn:
    """A declared column. `path` is the dotted path inside a JSON object, None for the column's own name."""

    name: str
    type: str
    path: str | None = None


@dataclass(frozen=True)
class Stream:
    """A named Kafka topic with a schema, a format and an event-time column.

    `options` has delimiter, quote, null (text) and strict (bool) for CSV. `time_unit` is the declared unit of an integer
    event-time column and 'us' for a TIMESTAMP or STRING one. `topic_id` is the broker's UUID as text. `key_parts` is
    frozen for the stream's life. `id` is never used again, also after DROP and CREATE of the same name.
    """

    name: str
    id: int
    topic: str
    topic_id: str
    columns: tuple[StreamColumn, ...]
    format: str
    time_column: str
    time_unit: str = "ms"
    key_parts: int = 2
    options: dict = field(default_factory=dict)
    sql: str = ""

    def column(self, name: str) -> StreamColumn:
        """The column of that exact name; KeyError if there is none."""
        return {c.name: c for c in self.columns}[name]

    @property
    def has_unit(self) -> bool:
        """Is the event time an integer, whose unit the user declares?"""
        return self.column(self.time_column).type in ("INT", "BIGINT")

    @property
    def event_time(self) -> str:
        """The event-time column in words, with its unit if it has one."""
        return f"{self.time_column} in {self.time_unit}" if self.has_unit else self.time_column

    def units(self, duration_ms: int) -> int:
        """A duration in the stream's time unit. Plans never hold durations finer than the unit."""
        return duration_ms * UNITS_PER_SECOND[self.time_unit] // 1000

    def micros(self, time: int) -> int:
        """An event time of this stream as microseconds since the epoch (ns are cut, not rounded)."""
        return time * 1_000_000 // UNITS_PER_SECOND[self.time_unit]

    def to_json(self) -> dict:
        """A JSON-able form; `Stream.from_json` gives back an equal stream."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict) -> Stream:
        """The stream of a form made by `to_json`."""
        return Stream(**{**data, "columns": tuple(StreamColumn(**c) for c in data["columns"])})


@dataclass(frozen=True)
class Window:
    """Which windows there are. `kind` is one of mars/algebra/windows, whose file says what its lengths mean. A kind that has
    more of them than this one adds fields, which others leave None."""

    kind: str
    size_ms: int
    every_ms: int | None = None
    offset_ms: int | None = None
    from_us: int | None = None
    max_ms: int | None = None
    zone: str | None = None

    def to_json(self) -> dict:
        """A JSON-able form, of the fields that this kind has; `Window(**form)` is an equal one."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Key:
    """One grouping expression over the stream's columns. The bare event-time column is no key: it is the window."""

    name: str
    expression: Expression
    type: str


@dataclass(frozen=True)
class Output:
    """One column of the result: its name, and an expression over `k0..`, `a0..`, `window_start`, `window_end` (both
    TIMESTAMP) and `window_time` (the window's start in the event-time column's own type and unit)."""

    name: str
    expression: Expression
    type: str


@dataclass(frozen=True)
class Aggregation:
    """What mappers compute of the tuples of a stream, and reducers keep of it: cells, by pane and keys. Queries whose
    aggregations are equal keep the same cells, whatever they show of them.

    `columns` are the stream's columns that must read for a tuple not to be bad: those the statement names and the event-time
    column. `window` is None only for an ad-hoc query. What follows `partials` is the policy of time: it says when windows
    close, and what becomes of tuples after that. `idle_ms` None is IDLE OFF. `late` is DROP; TO: late tuples are kept
    besides; or UPDATE: for `late_for_ms` after it has closed, a window is still changed by late tuples. A tuple is future if
    it is further than `max_ahead_ms` ahead of its record's time; None is the setting's limit. If nothing comes for
    `timeout_ms` by the clock, the last windows are closed without the next tuple; None: they wait for it."""

    stream: str
    columns: tuple[str, ...]
    where: Expression | None
    keys: tuple[Key, ...]
    window: Window | None
    partials: tuple[Partial, ...]
    watermark_ms: int = 5_000
    idle_ms: int | None = 30_000
    grace_ms: int = 0
    late: str = "DROP"
    max_ahead_ms: int | None = None
    late_for_ms: int = 0
    timeout_ms: int | None = None

    def to_json(self) -> dict:
        """A JSON-able form; `Aggregation.from_json` gives back an equal one."""
        json = expressions.to_json
        return {
            "stream": self.stream, "columns": list(self.columns), "where": json(self.where),
            "keys": [{"name": k.name, "expression": json(k.expression), "type": k.type} for k in self.keys],
            "window": self.window.to_json() if self.window else None,
            "partials": [partial.to_json() for partial in self.partials],
            **{name: getattr(self, name) for name in TIME_POLICY},
            **({} if self.max_ahead_ms is None else {"max_ahead_ms": self.max_ahead_ms}),
            **({"late_for_ms": self.late_for_ms} if self.late_for_ms else {}),
            **({} if self.timeout_ms is None else {"timeout_ms": self.timeout_ms}),
        }

    @property
    def grows(self) -> bool:
        """May cells grow far beyond the rows that are made of them?"""
        return any(partial.kind in GROWING for partial in self.partials)

    @cached_property
    def is_changelog(self) -> bool:
        """Do rows change after they were given out? Then each cell says at which commit it changed last."""
        return any(partial.kind == CHANGED for partial in self.partials)

    @cached_property
    def cells_name(self) -> bytes:
        """Equal for two aggregations of one stream if and only if their cells are equal, column by column, whatever the
        keys are called in results."""
        form = self.to_json()
        return orjson.dumps({**form, "keys": [(key["expression"], key["type"]) for key in form["keys"]]},
                            option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)

    @staticmethod
    def from_json(data: dict) -> Aggregation:
        """The aggregation of a form made by `to_json`."""
        return Aggregation(
            data["stream"], tuple(data["columns"]), expressions.from_json(data["where"]),
            tuple(Key(k["name"], expressions.present_from_json(k["expression"]), k["type"]) for k in data["keys"]),
            Window(**data["window"]) if data["window"] else None,
            tuple(Partial.from_json(partial) for partial in data["partials"]),
            **{name: data[name] for name in TIME_POLICY}, late_for_ms=data.get("late_for_ms", 0),
            max_ahead_ms=data.get("max_ahead_ms"), timeout_ms=data.get("timeout_ms"))


@dataclass(frozen=True)
class Presentation:
    """What is shown of an aggregation's cells, and when: aggregates over its partials, outputs and HAVING over keys and
    aggregates. `order_by` (output index, descending) and `limit` are for ad-hoc queries; index -2 there is window_start and
    -1 window_end. With a `window_limit` of n, results show the first n rows of each window by `order_by`. `emission` is
    FINAL: each window once, when it is closed; EVERY: besides, at each multiple of the window's `every_ms`, the rows that
    have changed since; or CHANGES: besides, at each commit, the groups of open windows that have changed."""

    aggregates: tuple[AggregateCall, ...]
    outputs: tuple[Output, ...]
    having: Expression | None = None
    order_by: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    emission: str = "FINAL"
    window_limit: int | None = None

    def to_json(self) -> dict:
        """A JSON-able form; `Presentation.from_json` gives back an equal one."""
        json = expressions.to_json
        return {
            "aggregates": [{"function": a.function, "argument": json(a.argument), "filter": json(a.filter),
                            "type": a.type, **more_to_json(a)} for a in self.aggregates],
            "outputs": [{"name": o.name, "expression": json(o.expression), "type": o.type} for o in self.outputs],
            "having": json(self.having), "order_by": [list(o) for o in self.order_by], "limit": self.limit,
            "emission": self.emission,
            **({} if self.window_limit is None else {"window_limit": self.window_limit}),
        }

    @staticmethod
    def from_json(data: dict) -> Presentation:
        """The presentation of a form made by `to_json`."""
        load, present = expressions.from_json, expressions.present_from_json
        return Presentation(
            tuple(AggregateCall(a["function"], load(a["argument"]), load(a["filter"]), a["type"],
                                *more_from_json(a))
                  for a in data["aggregates"]),
            tuple(Output(o["name"], present(o["expression"]), o["type"]) for o in data["outputs"]),
            load(data["having"]), tuple((index, descending) for index, descending in data["order_by"]), data["limit"],
            data["emission"], data.get("window_limit"))


@dataclass(frozen=True)
class QueryPlan:
    """One statement, compiled. `start` is EARLIEST, LATEST or an ISO 8601 instant. `grouped` is False for an ad-hoc SELECT
    that shows tuples (no window, no aggregate): then each tuple that passes `where` gives one row, and the keys are computed
    per tuple. `versions` are the parts of Mars that compute it, each with its version (mars/computing.py); None in a plan
    from before they were recorded. `rate` is the most tuples a second that it reads; None for as many as there are.
    `late_to` is the name under which its late tuples are shown."""

    sql: str
    aggregation: Aggregation
    presentation: Presentation
    start: str = "LATEST"
    grouped: bool = True
    versions: tuple[tuple[str, int], ...] | None = None
    rate: int | None = None
    late_to: str | None = None

    def to_json(self) -> dict:
        """A JSON-able form; `QueryPlan.from_json` gives back an equal plan."""
        return {"sql": self.sql, "aggregation": self.aggregation.to_json(), "presentation": self.presentation.to_json(),
                "start": self.start, "grouped": self.grouped,
                "versions": None if self.versions is None else dict(self.versions),
                **({} if self.rate is None else {"rate": self.rate}),
                **({} if self.late_to is None else {"late_to": self.late_to})}

    @cached_property
    def text(self) -> bytes:
        """The JSON text of `to_json`."""
        return orjson.dumps(self.to_json())

    @staticmethod
    def from_json(data: dict) -> QueryPlan:
        """The plan of a form made by `to_json`, or by version 0.1.0."""
        versions = None if data.get("versions") is None else tuple(data["versions"].items())
        parts = (data["aggregation"], data["presentation"]) if "aggregation" in data else _parts_of_0_1(data)
        return QueryPlan(data["sql"], Aggregation.from_json(parts[0]), Presentation.from_json(parts[1]), data["start"],
                         data["grouped"], versions, data.get("rate"), data.get("late_to"))


def _parts_of_0_1(data: dict) -> tuple[dict, dict]:
    """The forms of both parts from a plan of version 0.1.0, which has all fields side by side. Its partials stay as they
    were kept, for there are cells of them."""
    kept = kept_apart(Presentation.from_json(data).aggregates)
    return {**data, "partials": [partial.to_json() for partial in kept]}, data


TIME_POLICY = ("watermark_ms", "idle_ms", "grace_ms", "late")
