"""Statements about the workers themselves:

    ALTER WORKERS SET MAPPERS n [, REDUCERS n]
    SHOW WORKERS
"""

from __future__ import annotations

from sql.read.reader import Reader, as_name
from sql.refusals import refusal_at
from sql.statements import AlterWorkers, Name

KINDS = ("MAPPERS", "REDUCERS")
COUNT_MAX = 1024
HINT = "write ALTER WORKERS SET MAPPERS 3, REDUCERS 2"


def read_alter_workers(reader: Reader) -> AlterWorkers:
    """After ALTER WORKERS."""
    reader.take("SET", hint=HINT)
    counts: dict[str, tuple[int, Name]] = {}
    while not counts or reader.accept(","):
        word = reader.word
        kind = reader.take(*KINDS, hint=HINT).value.lower()
        if kind in counts:
            raise refusal_at(reader.sql, word, f"{kind.upper()} is given twice", "", "give each number once")
        number = as_name(reader.word)
        counts[kind] = reader.take_whole(COUNT_MAX, HINT), number
    reader.take_end()
    return AlterWorkers(tuple((kind, count, place) for kind, (count, place) in counts.items()), reader.sql)
