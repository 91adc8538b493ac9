"""Parts of documents that commands write."""

from __future__ import annotations

from pathlib import Path


def write_part(document: Path, mark: str, made: str) -> None:
    """Put `made` between `<!-- mark -->` and `<!-- end of mark -->`."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, _, rest = document.read_text().partition(begin)
    document.write_text(f"{before}{begin}{made}\n{end}{rest.partition(end)[2]}")
