"""What readers have seen broken, each once, and which refusals of the API a fault excuses."""

from __future__ import annotations

import httpx

NOT_READY, UNKNOWN = 503, 404
DAMAGE = "a committed file"  # begins the title of an answer to who asks for what lies in a damaged file
TEXT_MAX = 300


class Broken:
    """Lines that tell of broken promises; threads may note at the same time. `dropped` are queries that a user has dropped,
    `is_damaged` says that files of commits were."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.dropped: set[str] = set()
        self.is_damaged = False

    def note(self, line: str) -> None:
        """Keep the line, unless it was told before."""
        if line not in self.lines:
            self.lines.append(line)

    def is_given(self, query: str, what: str, answer: httpx.Response) -> bool:
        """Does the answer hold what was asked for? All that readers ask for is there as long as the query is, so whatever
        is no 503 and no fault excuses is noted."""
        if answer.status_code == httpx.codes.OK:
            return True
        text = answer.read().decode(errors="replace")
        if answer.status_code != NOT_READY and not (answer.status_code == UNKNOWN and query in self.dropped):
            self.expect_damage(query, what, f"{answer.status_code}: {text}")
        return False

    def expect_damage(self, query: str, what: str, text: str) -> None:
        """Note an answer that lacks what was asked for, unless it says that a file is damaged, and some are."""
        if not self.is_damaged or DAMAGE not in text:
            self.note(f"{query}: {what} answered {text[:TEXT_MAX]}")
