"""CREATE CONNECTION.

    CREATE CONNECTION name TO POSTGRES | KAFKA | ICEBERG | S3 | HTTP (option value, ..., PASSWORD SECRET name)

A value is text in quotes, a plain word or a number. A password never stands in a statement: those are kept in histories and
logs. So an option that is secret takes the name of a secret alone.
"""

from __future__ import annotations

import re
from dataclasses import replace

from mars.errors import SqlError
from mars.model.connections import NUMBER_MAX, OPTIONS, Option, missing
from sql.read.reader import Reader, as_name
from sql.refusals import closest, not_supported, refusal, refusal_at
from sql.statements import CreateConnection, Name

LATER = ("WEBHOOK", "PARQUET", "DELTA")
EXAMPLE = "write CREATE CONNECTION wh TO POSTGRES (HOST 'db', DATABASE 'd', USER 'u', PASSWORD SECRET wh_pw)"
BEGIN = re.compile(r"\s*CREATE\s+CONNECTION\b", re.IGNORECASE)
# A text, closed or not; or what stands behind a word like PASSWORD or KEY, unless it is SECRET.
HIDDEN = re.compile(r"""(\b(?:pas\w*|\w*key|token)\b\s*=?\s*(?!secret\b)|(?=['"]))(['"](?:\\.|''|[^'"\\])*['"]?|[^\s,)]+)""",
                    re.IGNORECASE | re.DOTALL)


class Discreet(Reader):
    """Repeats no text in a refusal: it may be a password in a wrong place."""

    def shown(self) -> str:
        """The next word for an error message."""
        return "text" if self.word.kind == "text" else super().shown()


def read_create_connection(reader: Reader) -> CreateConnection:
    """After CREATE CONNECTION."""
    reader = Discreet(reader.sql, reader.words, reader.position)
    name = as_name(reader.take_name("the connection"))
    reader.take("TO", hint=EXAMPLE)
    if reader.word.is_(*LATER):
        raise not_supported(reader.sql, reader.word.start, reader.word.end, f"a connection to {reader.word.value.upper()}",
                            "connections go to POSTGRES, KAFKA, ICEBERG, S3 or HTTP")
    kind_word = reader.take(*OPTIONS, hint=EXAMPLE)
    kind = kind_word.value.upper()
    opened = reader.take("(", hint=EXAMPLE)
    options: dict[str, str | int] = {}
    secrets: dict[str, Name] = {}
    while True:
        _read_option(reader, kind, options, secrets)
        if not reader.accept(","):
            break
    reader.take(")", hint="a comma stands between options, and ) after the last one")
    reader.take_end()
    lacking = missing(kind, {*options, *secrets})
    if lacking:
        how = "SECRET name" if OPTIONS[kind][lacking[0]].secret else "'...'"
        raise refusal_at(reader.sql, opened, f"{lacking[0]} is missing",
                         f"a connection to {kind} needs {', '.join(lacking)}", f"write {lacking[0]} {how} among the options")
    return CreateConnection(name, kind, tuple(options.items()), tuple(secrets.items()), reader.sql)


def _read_option(reader: Reader, kind: str, options: dict[str, str | int], secrets: dict[str, Name]) -> None:
    word, known = reader.word, OPTIONS[kind]
    option = word.value.upper()
    if word.kind != "name" or option not in known:
        raise _unknown(reader, kind)
    reader.advance()
    if option in options or option in secrets:
        raise refusal_at(reader.sql, word, f"{option} stands twice", "each option stands once", f"remove one {option}")
    if known[option].secret:
        secrets[option] = _secret(reader, option)
    else:
        options[option] = _value(reader, option, known[option])


def _unknown(reader: Reader, kind: str) -> SqlError:
    word, known = reader.word, ", ".join(OPTIONS[kind])
    near = closest(word.value, OPTIONS[kind]) if word.kind == "name" else None
    return refusal_at(reader.sql, word, f"unknown option {word.value if word.kind == 'name' else ''}".rstrip(),
                      f"a connection to {kind} takes {known}",
                      f"did you mean {near}?" if near else f"the options are {known}")


def _secret(reader: Reader, option: str) -> Name:
    """SECRET name. What else stands there may be the secret itself, and is not repeated in the refusal."""
    first = reader.word
    if reader.accept("SECRET") and reader.word.kind in ("name", "quoted"):
        return as_name(reader.advance())
    raise refusal(reader.sql, first.start, first.start + 1, f"a {option.lower()} does not stand in a statement",
                  "statements are kept in histories and logs",
                  f"mars secret set NAME asks for it and keeps it; then write {option} SECRET NAME")


def hide_texts(sql: str) -> str:
    """The statement as it may be shown: of a CREATE CONNECTION without what may be a password. As long as it was."""
    if not BEGIN.match(sql):
        return sql
    return HIDDEN.sub(lambda found: found[1] + re.sub(r"[^\n]", "*", found[2]), sql)


def _value(reader: Reader, option: str, rule: Option) -> str | int:
    word = reader.word
    following = reader.words[min(reader.position + 1, len(reader.words) - 1)]
    if rule.is_number:
        return reader.take_whole(NUMBER_MAX, f"write {option} {rule.default or 1}")
    if rule.choices:
        if word.kind not in ("name", "text") or word.value.upper() not in rule.choices:
            raise reader.expected(" or ".join(rule.choices), f"write {option} {rule.choices[0]}", rule.choices)
        return reader.advance().value.upper()
    if word.kind not in ("name", "text", "quoted") or not word.value or not (following.is_(",", ")") or word.kind == "text"):
        raise refusal_at(reader.sql, replace(word, end=max(word.end, word.start + 1)), f"{option} needs a text",
                         "a text stands in single quotes", f"write {option} '...'")
    return reader.advance().value
