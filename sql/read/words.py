"""The words of a statement: sqlglot's tokens of the Spark dialect, as a user sees them.

sqlglot cuts `60s` and `10L` into three tokens at one place. Here they are one word that keeps its tokens. So our clauses
read words, and sqlglot gets its tokens back untouched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from mars.errors import SqlError
from sql.refusals import refusal, refusal_at

SPARK = Dialect.get_or_raise("spark")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
MAX_DEPTH = 60


@dataclass(frozen=True)
class Word:
    """`kind` is name, quoted (a name in backticks), text, number, symbol or end. `value` is the name or text meant;
    sql[start:end] is its text as written."""

    kind: str
    value: str
    start: int
    end: int
    tokens: tuple[Token, ...] = ()

    def is_(self, *keywords: str) -> bool:
        """True for one of these keywords or symbols, in any case; never for a quoted name or a text."""
        return self.kind in ("name", "symbol") and self.value.upper() in keywords


def read_words(sql: str) -> list[Word]:
    """All words of the text, comments left out, then one of kind `end`. Refuses double quotes and unclosed
    quotes."""
    try:
        # A parenthesis is put in front, because sqlglot would take the rest of a statement that begins with EXPLAIN or
        # SHOW as one text.
        tokens = [shifted(token) for token in SPARK.tokenize("(" + sql)[1:]]
    except TokenError as error:
        raise unclosed(sql) from error
    words: list[Word] = []
    for token in tokens:
        if words and words[-1].start == token.start:
            words[-1] = Word(words[-1].kind, sql[token.start:token.end + 1], token.start, token.end + 1,
                             (*words[-1].tokens, token))
        elif words and words[-1].kind == "text" and token.token_type == TokenType.STRING \
                and words[-1].end == token.start:
            words[-1] = text_word(sql, words[-1].start, token)
        else:
            words.append(word_of(sql, token))
    check_depth(sql, words)
    return [*words, Word("end", "", len(sql.rstrip()), len(sql.rstrip()))]


def shifted(token: Token) -> Token:
    """The token one place further left."""
    column = token.col - 1 if token.line == 1 else token.col
    return Token(
        token.token_type, token.text, line=token.line, col=column, start=token.start - 1, end=token.end - 1
    )


def word_of(sql: str, token: Token) -> Word:
    """One token as a word."""
    start, end = token.start, token.end + 1
    if sql[start:start + 1] == '"':
        inner = sql[start + 1:end - 1]
        raise refusal(sql, start, end, "double quotes are not used here",
                      "some SQL systems read them as text, others as a name",
                      f"write '{inner}' for text, `{inner}` for a name")
    if token.token_type == TokenType.STRING:
        return text_word(sql, start, token)
    if token.token_type == TokenType.IDENTIFIER:
        if not token.text:
            raise refusal(sql, start, end, "a name is empty", "there is nothing between the backticks",
                          "write a name in them, or '' for the empty text")
        return Word("quoted", token.text, start, end, (token,))
    if token.token_type == TokenType.NUMBER:
        return Word("number", token.text, start, end, (token,))
    bare = sql[start:end] == token.text and (token.text[:1].isalnum() or token.text[:1] == "_")
    return Word("name" if bare else "symbol", token.text, start, end, (token,))


def text_word(sql: str, start: int, token: Token) -> Word:
    """A text in single quotes, from `start` to the token's end: '' is a quote and the escapes are Spark's."""
    inner = re.sub(r"''|(\\.)", lambda m: m[1] or "'", sql[start + 1:token.end], flags=re.DOTALL)
    value = ESCAPE.sub(unescape, inner)
    whole = Token(TokenType.STRING, value, line=token.line, col=token.col, start=start, end=token.end)
    return Word("text", value, start, token.end + 1, (whole,))


def unescape(match: re.Match[str]) -> str:
    """The character of one backslash escape; `\\%` and `\\_` stay, for LIKE."""
    code = match[1]
    if code[0] in "uU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return chr(int(code, 8)) if len(code) == 3 else CONTROL.get(code, code)


def unclosed(sql: str) -> SqlError:
    """The refusal of a text whose quote or comment is not closed, at the place where it opens."""
    for kind, start, end in spans(sql):
        if kind == "open":
            return refusal(sql, start, end, "a quote or comment is not closed",
                           f"it opens with {sql[start]} here",
                           "close it; a quote inside a text is written ''")
    return refusal(
        sql, 0, len(sql), "the statement cannot be parsed", "a character or number in it has no meaning here"
    )


def spans(sql: str) -> list[tuple[str, int, int]]:
    """(kind, start, end) of each quoted part, comment and semicolon: quoted, comment, semicolon; `open` if
    unclosed."""
    pattern = re.compile(
        r"""(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)"""
        r"""|(?P<open>['"`]|/\*)|(?P<semicolon>;)""",
        re.DOTALL,
    )
    found = []
    for match in pattern.finditer(sql):
        kind = match.lastgroup or ""  # one of the four always matches
        found.append((kind, match.start(), match.end()))
        if kind == "open":
            break
    return found


def check_depth(sql: str, words: list[Word]) -> None:
    """Refuses parentheses that are nested too deep."""
    depth = 0
    for word in words:
        depth += word.is_("(", "[", "{") - word.is_(")", "]", "}")
        if depth > MAX_DEPTH:
            raise refusal_at(sql, word, "too deeply nested", f"more than {MAX_DEPTH} open parentheses",
                             "nest the condition less, with IN or AND")
