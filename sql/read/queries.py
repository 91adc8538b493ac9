"""Statements that make and change queries:

    CREATE QUERY [IF NOT EXISTS] q [INTO target] AS SELECT ...
    CREATE OR REPLACE QUERY q AS SELECT ...
    ALTER QUERY q AS SELECT ...
"""

from __future__ import annotations

from sql.read import sinks
from sql.read.reader import Reader, as_name
from sql.read.select import read_select
from sql.refusals import refusal_at
from sql.statements import AlterQuery, CreateQuery, Name, SelectStatement


def read_create_query(reader: Reader) -> CreateQuery:
    """After CREATE QUERY."""
    unless_there = accept_unless_there(reader)
    name = as_name(reader.take_name("the query"))
    into = sinks.read_into(reader) if reader.accept("INTO") else None
    return CreateQuery(name, into, _read_body(reader, f"CREATE QUERY {name.text}"), reader.sql, unless_there)


def read_replace_query(reader: Reader) -> AlterQuery:
    """After CREATE OR."""
    reader.take("REPLACE")
    reader.take("QUERY", hint="only a query can be replaced: write CREATE OR REPLACE QUERY q AS SELECT ...")
    return _read_change(reader, "CREATE OR REPLACE QUERY", or_create=True)


def read_alter_query(reader: Reader) -> AlterQuery:
    """After ALTER QUERY."""
    return _read_change(reader, "ALTER QUERY", or_create=False)


def _read_change(reader: Reader, words: str, or_create: bool) -> AlterQuery:
    name: Name = as_name(reader.take_name("the query"))
    if reader.word.is_("INTO"):
        raise refusal_at(reader.sql, reader.word, f"{words} takes no INTO", "sinks are made and dropped by themselves",
                         "leave it out, and CREATE SINK")
    return AlterQuery(name, _read_body(reader, f"{words} {name.text}"), reader.sql, or_create)


def _read_body(reader: Reader, words: str) -> SelectStatement:
    reader.take("AS", hint=f"write {words} AS SELECT ...")
    if not reader.word.is_("SELECT"):
        raise reader.expected("SELECT", "a query is a SELECT over one stream", ("SELECT",))
    return read_select(reader.sql, reader.words[reader.position:])


def accept_unless_there(reader: Reader) -> bool:
    """Takes IF NOT EXISTS if it comes next."""
    return _accept_all(reader, "IF", "NOT", "EXISTS")


def accept_if_there(reader: Reader) -> bool:
    """Takes IF EXISTS if it comes next."""
    return _accept_all(reader, "IF", "EXISTS")


def _accept_all(reader: Reader, *keywords: str) -> bool:
    following = reader.words[reader.position:reader.position + len(keywords)]
    if len(following) < len(keywords) or not all(map(lambda word, keyword: word.is_(keyword), following, keywords)):
        return False
    for _ in keywords:
        reader.advance()
    return True
