"""The answer to one statement."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from mars.model import types
from mars.results.formats import named_types, to_json


@dataclass
class Answer:
    """`kind` is rows, created, dropped, paused, resumed, altered or plan. `notes` are sentences for a person; `extra` goes
    into the document beside the fields that every answer has."""

    kind: str
    name: str | None = None
    table: pa.Table | None = None
    notes: list[str] = field(default_factory=list)
    truncated: bool = False
    extra: dict = field(default_factory=dict)

    def to_json(self) -> bytes:
        """The document of POST /v1/sql."""
        table = self.table if self.table is not None else pa.table({})
        document: dict[str, object] = {"kind": self.kind, "name": self.name, "columns": named_types(table.schema)}
        if self.notes:
            document["notes"] = self.notes
        if self.truncated:
            document["truncated"] = True
        return to_json({**document, **self.extra}, table)


def listing(columns: dict[str, str], lines: list[tuple]) -> pa.Table:
    """A table of the columns (name to type) with one row for each line."""
    arrays = [pa.array([line[i] for line in lines], types.to_arrow(type_)) for i, type_ in enumerate(columns.values())]
    return pa.Table.from_arrays(arrays, names=list(columns))


def unchanged(kind: str, name: str, there: str | None) -> Answer:
    """The answer to IF [NOT] EXISTS where nothing is to be done."""
    note = f"There is a {there} {name} already; it was left as it is." if there else f"There was no {name}."
    return Answer(kind, name, notes=[note])
