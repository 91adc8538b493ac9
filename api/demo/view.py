"""What the demo shows while it runs: a live panel on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from api.demo.source import Source

PLAIN_EVERY_S = 3.0


class View:
    """Shows moments until it is left. Everything goes to stderr; the verdict is the demo's only result."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.live = Live(console=self.console, auto_refresh=False, transient=False) if sys.stderr.isatty() else None
        self.began = time.monotonic()
        self.said = 0.0
        self.first_rows_s: float | None = None
        self.last: tuple[float, int] = (self.began, 0)
        self.rate = 0.0

    def __enter__(self) -> View:
        if self.live:
            self.live.__enter__()
        return self

    def __exit__(self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.live:
            self.live.__exit__(type_, error, trace)

    def show(self, source: Source, query: dict, newest: dict, last: bool = False) -> None:
        """Show one moment: the query and its newest closed windows, as the API tells of them. On a pipe at most every few
        seconds, and always the last one."""
        now, read = time.monotonic(), query["counters"]["tuples"]
        if now - self.last[0] > 1:
            self.rate = (read - self.last[1]) / (now - self.last[0])
            self.last = (now, read)
        if newest["rows"] and self.first_rows_s is None:
            self.first_rows_s = now - self.began
            self.said = 0.0
        lag = f"{query['lag']['tuples']:,}" if query["lag"] else "not known"
        sent = f"sent {source.sent:,} of {source.goal:,}" if source.goal else f"the topic holds {source.sent:,}"
        line = (f"{sent}   read {read:,}   {self.rate / 1000:,.0f} k tuples/s   lag {lag}   "
                f"watermark {query['watermark'] or 'none yet'}   {query['state']}")
        if self.live:
            self.live.update(Group(_table(newest), Text(line)), refresh=True)
        elif last or now - self.said > PLAIN_EVERY_S:
            self.said = now
            self.console.print(line, soft_wrap=True)


def _table(newest: dict) -> Table:
    table = Table(*(column["name"] for column in newest["columns"]), title="newest closed windows", title_justify="left",
                  box=None, pad_edge=False)
    for row in newest["rows"]:
        table.add_row(*("NULL" if value is None else str(value) for value in row))
    return table


def say(text: str) -> None:
    """A line for people."""
    print(text, file=sys.stderr, flush=True)
