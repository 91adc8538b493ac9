"""The figures of an accuracy run as a table in Markdown."""

from __future__ import annotations

from benchmarks.side_by_side_table import markdown

TITLE = "Right sums while nodes are cut off"
HEAD = ("system", "promise", "tuples", "lost", "doubled", "less than 90 % of the rate, s, of each cut", "caught up after, s",
        "behind at most, s", "all read after the last healing, s")
PAPER = ("Mars (paper)", "at least once", "40,000,000", "0", "0", "-", "-", "-", "-")
STORM = ("Storm (paper)", "at least once", "40,000,000", "0", "0", "-", "-", "-", "-")
WAYS = {"network": "no packet reaches the node or leaves it", "pause": "its processes stand still"}


def figure(document: dict) -> list[str]:
    """The table as lines, and who is missing."""
    rows = [_row(document["contenders"][turn["contender"]], turn) for turn in document["turns"]]
    cuts = f"{document['cuts']} cuts of {document['cut_s']:.0f} s each, one node after the other: {WAYS[document['way']]}."
    lines = [markdown([HEAD, *rows, PAPER, STORM]), "", cuts]
    return lines + [f"{name} is left out: {reason.splitlines()[0]}" for name, reason in document["left_out"].items()]


def _row(about: dict, turn: dict) -> tuple[str, ...]:
    found, cuts = turn["exactness"], turn["cuts"]
    all_read = "never" if turn["all_read_s"] is None else f"{turn['all_read_s']:.1f}"
    lost = f"{found['lost']:,}" + (f" ({turn['unread']:,} were not read in time)" if turn.get("unread") else "")
    return (about["title"], about["guarantee"], f"{turn['tuples']:,} at {turn['rate']:,}/s", lost,
            f"{found['doubled']:,}", _each(cuts, "reduced_s"), _each(cuts, "caught_up_s"), _each(cuts, "behind_s"), all_read)


def _each(cuts: list[dict], field: str) -> str:
    """A figure of each cut."""
    return ", ".join(f"{cut[field]:.1f}" for cut in cuts)
