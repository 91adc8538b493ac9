"""`DATE '2026-01-31'` and `TIMESTAMP '...'`: a type's name right before a text. In the tree they are casts like any
other, which give NULL for an invalid text. Here, by their words, they can still be told apart."""

from __future__ import annotations

from itertools import pairwise

from sqlglot.tokens import TokenType

from mars.errors import SqlError
from mars.model import types
from mars.model.expressions import Literal
from sql import literals
from sql.read.words import SPARK, Word
from sql.refusals import refusal

EXAMPLES = {"DATE": "DATE '2026-01-31'", "TIMESTAMP": "TIMESTAMP '2026-01-31 12:00:00'"}
TYPES = SPARK.parser_class.TYPE_TOKENS - {TokenType.INTERVAL}


def refuse_unreadable(sql: str, words: list[Word]) -> None:
    """Raises SqlError for a constant that would always be NULL, and for one of another type, which Spark does not
    have."""
    for word, text in pairwise(words):
        if text.kind != "text" or word.kind != "name" or word.tokens[0].token_type not in TYPES:
            continue
        type_ = types.normalize(word.value)
        if type_ not in EXAMPLES:
            hint = f"write cast({sql[text.start:text.end]} AS {type_})" if type_ else f"write {EXAMPLES['TIMESTAMP']}"
            raise refused(sql, word, text, f"{word.value} cannot come before a text", "only DATE and TIMESTAMP can", hint)
        if literals.fold(Literal(text.value, "STRING"), type_) is None:
            raise refused(sql, word, text, f"'{text.value}' is not a valid {type_}", "it would always be NULL",
                          f"write {EXAMPLES[type_]}")


def refused(sql: str, word: Word, text: Word, title: str, detail: str, hint: str) -> SqlError:
    """The refusal of both words."""
    return refusal(sql, word.start, text.end, title, detail, hint)
