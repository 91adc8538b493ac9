"""A SELECT's words to a tree: cuts out our clauses, lets sqlglot parse the plain SQL, and gives its errors our form.

Every call `name(...)` reaches sqlglot under a name that it does not know. So it comes back as a plain call with its
arguments as written. sqlglot's own rewriting of functions would lose what the user wrote.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from mars.errors import SqlError
from sql.places import CALL
from sql.read.clauses import EXPECTS_MORE, cut
from sql.read.typed_literals import refuse_unreadable
from sql.read.words import SPARK, Word
from sql.refusals import KEYWORDS, closest, refusal, refusal_at
from sql.statements import Name, SelectStatement

NOT_CALLS = frozenset({
    "ALL", "AND", "ARRAY", "AS", "BETWEEN", "BY", "CASE", "CAST", "CUBE", "DISTINCT", "DIV", "ELSE",
    "EXISTS", "EXTRACT", "FILTER", "FROM", "GROUP", "HAVING", "ILIKE", "IN", "INTERVAL", "IS", "JOIN",
    "LATERAL", "LIKE", "LIMIT", "NOT", "ON", "OR", "ORDER", "OVER", "RLIKE", "REGEXP", "ROLLUP", "SELECT",
    "SETS", "THEN", "TRY_CAST", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITH", "WITHIN"
})
# Calls that may have such a word between their arguments; then sqlglot reads them.
SPELLED_OUT = {"TRIM": "FROM", "SUBSTRING": "FROM", "SUBSTR": "FROM", "POSITION": "IN"}
# Behind these, ANY and SOME are no aggregates.
QUANTIFIED = ("LIKE", "ILIKE", "RLIKE", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>")
# Words that begin statements or are calls elsewhere, but have no meaning anywhere in a SELECT over a stream.
ALWAYS_NAMES = (TokenType.ISNULL, TokenType.NOTNULL, TokenType.DROP, TokenType.CREATE, TokenType.ALTER)
# Clauses of SQL that may follow GROUP BY and ORDER BY. Directly after these, the words are columns.
FIRST_KEYS = ("LIMIT", "OFFSET", "WINDOW")


def read_select(sql: str, words: list[Word]) -> SelectStatement:
    """The SELECT that these words form; a semicolon at the end is allowed. It may still be invalid for its stream."""
    if len(words) > 1 and words[-2].is_(";"):
        words = [*words[:-2], words[-1]]
    extra = next((w for w in words if w.is_(";")), None)
    if extra:
        raise refusal_at(sql, extra, "unexpected ;", "one statement at a time", "remove what follows it"
        )
    refuse_set_operation(sql, words)
    plain, clauses = cut(sql, words)
    refuse_unreadable(sql, plain)
    tree = parse_plain(sql, plain)
    if not isinstance(tree, exp.Select):
        raise refusal(sql, words[0].start, words[0].end, "this is not a plain SELECT",
                      "a SELECT reads one stream",
                      "write SELECT ... FROM stream; UNION works over the results of queries")
    source = table_of(sql, tree, words)
    texts = item_texts(sql, plain)
    if len(texts) != len(tree.expressions):
        raise refusal(sql, words[0].start, words[0].end, "the select list cannot be parsed", "",
                      "separate its columns by commas")
    return SelectStatement(sql, source, tree, clauses, texts, (words[-2].start, words[-2].end))


def refuse_set_operation(sql: str, words: list[Word]) -> None:
    """Refuses UNION and similar words between SELECTs. A column may still have such a name, and `* EXCEPT (...)` is not
    meant."""
    for index, (word, following) in enumerate(pairwise(words)):
        between = following.is_("SELECT", "ALL", "DISTINCT", "(") and not follows_star(words, index)
        if between and word.is_("UNION", "INTERSECT", "EXCEPT"):
            raise refusal_at(sql, word, f"{word.value.upper()} is not part of a SELECT over a stream",
                             "it reads one stream", "make a query of each SELECT, and combine their results")


def parse_plain(sql: str, words: list[Word]) -> exp.Expr | None:
    """sqlglot's tree of the words; SqlError if they cannot be parsed."""
    tokens = [token for i, word in enumerate(words[:-1]) for token in call_tokens(words, i)]
    try:
        trees = SPARK.parser().parse(tokens, sql)
    except ParseError as error:
        raise unreadable(sql, words, error) from error
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise refusal(sql, words[0].start, words[0].end, "the statement cannot be parsed",
                      str(error).split("\n")[0], "compare it with the reference of the dialect") from error
    return trees[0] if len(trees) == 1 else None


def call_tokens(words: list[Word], index: int) -> tuple[Token, ...]:
    """The tokens of a word. The name of a call is marked as a call, and a word that can only be a name here is made a
    name."""
    word = words[index]
    token = word.tokens[0]
    if word.kind == "name" and words[index + 1].is_("("):
        is_call = word.value.upper().split()[-1] not in NOT_CALLS  # GROUP BY is one word
        is_call = is_call and not (word.is_("ANY", "SOME") and words[index - 1].is_(*QUANTIFIED))
        is_call = is_call and not has_words_inside(words, index)
        if is_call and not (index and words[index - 1].is_("AS", "::")) and not follows_star(words, index):
            return (named(token, CALL + word.value),)
    is_into = word.is_("INTO") and not ends_before(words, index)
    is_name = token.token_type in ALWAYS_NAMES or is_into or is_first_key(words, index)
    return (named(token, token.text),) if word.kind == "name" and is_name else word.tokens


def has_words_inside(words: list[Word], index: int) -> bool:
    """True for a call with SQL's own words between its arguments: trim(BOTH 'x' FROM s)."""
    inner = SPELLED_OUT.get(words[index].value.upper())
    depth = 0
    for word in words[index + 1:] if inner else ():
        depth += word.is_("(") - word.is_(")")
        if depth == 0 or (depth == 1 and word.is_(inner or "")):
            return depth == 1
    return False


def is_first_key(words: list[Word], index: int) -> bool:
    """True for a column whose name is a clause's keyword, right after GROUP BY or ORDER BY. `LIMIT 3` there is a clause,
    and keys are missing."""
    after_by = index and words[index - 1].is_("GROUP BY", "ORDER BY")
    following = words[index + 1]
    return bool(after_by) and words[index].is_(*FIRST_KEYS) and following.kind != "number" and not following.is_("(", "ALL")


def ends_before(words: list[Word], index: int) -> bool:
    """True if an expression has ended before words[index], so that no column can follow."""
    before = words[index - 1]
    if before.is_(*EXPECTS_MORE):
        return False
    return before.kind != "symbol" or before.is_(")", "]") or follows_star(words, index)


def named(token: Token, text: str) -> Token:
    """The token as a name."""
    return Token(TokenType.VAR, text, line=token.line, col=token.col, start=token.start, end=token.end)


def follows_star(words: list[Word], index: int) -> bool:
    """True if words[index] directly follows a * that means all columns, not a product."""
    before = words[max(0, index - 2)]
    return index > 1 and words[index - 1].is_("*") and before.is_("SELECT", "ALL", "DISTINCT", ",", ".", "(")


def unreadable(sql: str, words: list[Word], error: ParseError) -> SqlError:
    """sqlglot's error, with the word that it is about and the keyword that was most likely meant."""
    found = error.errors[0] if error.errors else {}
    line, column = found.get("line") or 1, found.get("col") or 1
    end = sum(len(text) + 1 for text in sql.split("\n")[:line - 1]) + column
    index = next((i for i, w in enumerate(words) if w.end >= end), len(words) - 1)
    word, description = words[index], found.get("description", "")
    for near in words[max(0, index - 1):index + 1][::-1]:
        if near.is_("FILTER"):
            return refusal_at(sql, near, "unexpected FILTER", "it directly follows its aggregate",
                              "write first(x) FILTER (WHERE ...) IGNORE NULLS")
        is_ours = near.value.upper().split(" ")[0] in KEYWORDS  # GROUP BY is one word
        meant = closest(near.value, KEYWORDS) if near.kind == "name" and not is_ours else None
        if meant:
            return refusal_at(sql, near, f"unexpected {sql[near.start:near.end]}",
                              "the statement cannot be parsed here", f"did you mean {meant}?")
    if description.startswith("Required keyword"):
        return refusal_at(sql, word, f"something is missing at {sql[word.start:word.end] or 'the end'}",
                          "an expression is not complete", "complete it, or remove it")
    detail = "the statement cannot be parsed here"
    if description.startswith("Expect"):
        detail = re.split(r"<class| but got", description)[0].strip().lower()
    shown = sql[word.start:word.end] or "end of the statement"
    return refusal_at(sql, word, f"unexpected {shown}", detail,
                      "put a name with other characters in `backticks`")


def table_of(sql: str, tree: exp.Select, words: list[Word]) -> Name:
    """The stream that the SELECT reads; SqlError unless it is one plain name."""
    from_ = tree.args.get("from_")
    if from_ is None:
        raise refusal(sql, words[-2].start, words[-2].end, "FROM is missing",
                      "a SELECT reads a stream or a query's results", "write SELECT ... FROM stream")
    table = from_.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or table.args.get("db"):
        word = next((w for w in words if w.is_("FROM")), words[0])
        raise refusal_at(sql, word, "a SELECT reads one stream by its name",
                         "sub-queries and qualified names work over the results of queries alone",
                         "write FROM stream")
    place = table.this.meta
    return Name(table.this.name, place.get("start", 0), place.get("end", -1) + 1)


def item_texts(sql: str, words: list[Word]) -> tuple[str, ...]:
    """The text of each column of the select list, white space made single."""
    texts, depth, start, end = [], 0, None, 0
    for before, word in pairwise(words):
        depth += word.is_("(", "[") - word.is_(")", "]")
        ends = word.is_(",") or word.kind == "end" or (word.is_("FROM") and not before.is_("DISTINCT"))
        if depth == 0 and ends:
            texts.append(" ".join(sql[start or 0:end].split()))
            start = None
            if not word.is_(","):
                break
            continue
        start, end = word.start if start is None else start, word.end
    return tuple(texts)
