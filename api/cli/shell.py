"""The interactive SQL shell: statements that end with `;`, psql's shortcuts, history and completion."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from api.cli.client import Client
from api.cli.errors import text
from api.cli.running import read, run, show
from mars.errors import MarsError
from sql.read.parse import split_statements

WORDS = """ALTER AND AS AVG BETWEEN BIGINT BOOLEAN BY CASE CHANGES CONNECTION CONNECTIONS COUNT CREATE CSV DATE DEAD DECIMAL
DESCRIBE DISTINCT DOUBLE DROP DRY EARLIEST ELSE EMIT END EVERY EXPLAIN FILTER FINAL FIRST FLOAT FOR FORMAT FROM GRACE GROUP
HAVING ICEBERG IDLE IN INT INTO IS JSON KAFKA KEY LAST LATE LATEST LETTERS LIKE LIMIT MAPPERS MAX MAXAHEAD MIN NOT NULL OR
ORDER PARQUET PAUSE PEEK POSTGRES QUERIES QUERY RATE REDRIVE REDUCERS REPLAY RESUME RUN SECRET SELECT SET SHOW SINK SINKS
STDDEV STREAM STREAMS STRING SUM TABLE THEN TIMEOUT TIMESTAMP TO TOPIC UNIT UPDATE VARIANCE WATERMARK WEBHOOK WHEN WHERE
WINDOWING WORKERS"""
KEYWORDS = WORDS.split()
HELP = """\\d          streams and queries        \\x          one line per value (on, off)
\\d NAME     describe one               \\timing     show how long statements take (on, off)
\\dl NAME    dead letters of a stream   \\?          this help
\\i FILE     run a file
\\q          leave                      ;           ends a statement"""


class Names(Completer):
    """Completes keywords, shortcuts, and the names of streams, queries and columns that the API knows now."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.words: list[str] = []
        self.read_at = 0.0

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Words that complete the text before the cursor, in its upper or lower case."""
        before = document.text_before_cursor
        if before.lstrip().startswith("\\") and " " not in before.lstrip():
            options, start = ["\\d", "\\dl", "\\i", "\\q", "\\timing", "\\x", "\\?"], before.lstrip()
        else:
            options, start = [], document.get_word_before_cursor()
        if not start:
            return
        for word in options or [*KEYWORDS, *self.known()]:
            if word.lower().startswith(start.lower()) and word.lower() != start.lower():
                lower = word in KEYWORDS and start.islower()
                yield Completion(word.lower() if lower else word, -len(start))

    def known(self) -> list[str]:
        """Names, at most some seconds old; none while the API does not answer."""
        if time.monotonic() - self.read_at > 5:
            self.read_at = time.monotonic()
            try:
                kinds = ("STREAMS", "QUERIES", "SINKS")
                found = [row[0] for kind in kinds for row in self.client.sql(f"SHOW {kind}")["rows"]]
                self.words = [str(name) for name in found]
            except MarsError:
                self.words = []
        return self.words


class Shell:
    """One session of the shell, from `run` to its end."""

    def __init__(self, client: Client, format_: str) -> None:
        self.client = client
        self.format = format_
        self.expanded = False
        self.timing = False
        self.pending = ""

    def run(self) -> None:
        """Read and run until \\q or end of input. Ctrl-C discards what was typed, or stops waiting for a statement."""
        print(f"Mars at {self.client.url}   \\? for help, \\q to leave", file=sys.stderr)
        session: PromptSession[str] = PromptSession(
            history=FileHistory(str(history_file())), completer=Names(self.client), complete_while_typing=False,
            lexer=PygmentsLexer(SqlLexer))
        while True:
            try:
                line = session.prompt("  ...> " if self.pending else "mars> ")
                if not self.feed(line):
                    return
            except KeyboardInterrupt:
                self.pending = ""
            except EOFError:
                return

    def feed(self, line: str) -> bool:
        """Take one line; run what is complete. False when the shell is to end. Errors are shown, not
        raised."""
        try:
            if not self.pending and line.strip().startswith("\\"):
                return self.shortcut(line.strip())
            self.pending += line + "\n"
            if line.rstrip().endswith(";") or line.strip().lower() in ("exit", "quit"):
                statements, self.pending = self.pending, ""
                if statements.strip().lower().rstrip(";") in ("exit", "quit"):
                    return False
                self.execute(statements)
        except MarsError as error:
            print(text(error), file=sys.stderr)
        return True

    def execute(self, statements: str) -> None:
        """Run statements and show their answers, up to the first that fails."""
        for statement in split_statements(statements):
            began = time.monotonic()
            show(run(self.client, statement), self.format, self.expanded)
            if self.timing:
                print(f"{(time.monotonic() - began) * 1000:.0f} ms", file=sys.stderr)

    def shortcut(self, line: str) -> bool:
        """Run a backslash command; False for \\q."""
        word, _, rest = line.partition(" ")
        rest = rest.strip().rstrip(";")
        if word == "\\q":
            return False
        if word == "\\d":
            self.execute(f"DESCRIBE {rest}" if rest else "SHOW STREAMS; SHOW QUERIES")
        elif word == "\\dl" and rest:
            self.execute(f"SHOW DEAD LETTERS FROM {rest}")
        elif word == "\\i" and rest:
            self.execute(read(rest))
        elif word == "\\x":
            self.expanded = not self.expanded
            print(f"expanded rows are {'on' if self.expanded else 'off'}", file=sys.stderr)
        elif word == "\\timing":
            self.timing = not self.timing
            print(f"timing is {'on' if self.timing else 'off'}", file=sys.stderr)
        else:
            print(HELP if word == "\\?" else f"{word} is not a shortcut\n{HELP}", file=sys.stderr)
        return True


def history_file() -> Path:
    """The file where typed statements are kept. Creates its folder."""
    root = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "mars"
    root.mkdir(parents=True, exist_ok=True)
    return root / "history"
