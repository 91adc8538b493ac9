"""What the demo shows while it runs: a live panel on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

PLAIN_EVERY_S = 3.0


@dataclass
class Moment:
    """The demo at one moment."""

    sent: int = 0
    goal: int = 0
    read: int = 0
    lag: int | None = 0  # None while Kafka does not answer
    watermark: str = ""
    state: str = ""
    columns: list[dict] = field(default_factory=list)
    rows: list[list] = field(default_factory=list)


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

    def show(self, moment: Moment, last: bool = False) -> None:
        """Show one moment; on a pipe at most every few seconds, and always the last one."""
        now = time.monotonic()
        if now - self.last[0] > 1:
            self.rate = (moment.read - self.last[1]) / (now - self.last[0])
            self.last = (now, moment.read)
        if moment.rows and self.first_rows_s is None:
            self.first_rows_s = now - self.began
            self.said = 0.0
        if self.live:
            self.live.update(Group(self._rows(moment), Text(self._line(moment))), refresh=True)
        elif last or now - self.said > PLAIN_EVERY_S:
            self.said = now
            self.console.print(self._line(moment), soft_wrap=True)

    def _line(self, moment: Moment) -> str:
        lag = "not known" if moment.lag is None else f"{moment.lag:,}"
        sent = f"sent {moment.sent:,} of {moment.goal:,}" if moment.goal else f"the topic holds {moment.sent:,}"
        return (f"{sent}   read {moment.read:,}   {self.rate / 1000:,.0f} k tuples/s   "
                f"lag {lag}   watermark {moment.watermark or 'none yet'}   {moment.state}")

    def _rows(self, moment: Moment) -> Table:
        table = Table(title="newest closed windows", title_justify="left", box=None, pad_edge=False)
        for column in moment.columns:
            table.add_column(column["name"])
        for row in moment.rows:
            table.add_row(*("NULL" if value is None else str(value) for value in row))
        return table


def say(text: str) -> None:
    """A line for people."""
    print(text, file=sys.stderr, flush=True)
