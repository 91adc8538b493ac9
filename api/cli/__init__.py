"""The command line: `program` is what it takes, `commands` what each command does."""

from __future__ import annotations


def main() -> None:
    """The program `mars`. Imported when it runs, so that whoever wants a client alone loads no more than that."""
    from api.cli.program import main

    main()
