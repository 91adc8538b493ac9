"""The command line: `program` has the commands and their options, `commands` what each command does."""

from __future__ import annotations


def main() -> None:
    """The program `mars`. Imported when it runs, so that code which needs only a client loads nothing else."""
    from api.cli.program import main

    main()
