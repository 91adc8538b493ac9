"""More functions of text, and what their constants may be."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import coercion, regular_expressions
from mars.algebra.coercion import TypeMismatch
from mars.algebra.json_steps import steps
from mars.algebra.scalars.function import Function
from mars.algebra.signatures import Rule, Signature, fixed
from mars.model.expressions import Constant, Expression, Literal

# A text that is padded or repeated may be so long, or so many.
LENGTH_MAX = 10_000
SHA2_BITS = (0, 224, 256, 384, 512)
RE2 = "use RE2's syntax: no look-around, no back references"


def _with(wanted: tuple[str, ...], result: str, check: Callable[[list[Constant]], None], kinds: dict[int, type]) -> Rule:
    """The rule of a function whose arguments at the places of `kinds` are constants, a text or a whole number, which
    `check` refuses by TypeMismatch."""
    def rule(arguments: tuple[Expression, ...]) -> Signature:
        constants: list[Constant] = []
        for place, (argument, target) in enumerate(zip(arguments, wanted, strict=False)):
            coercion.check_implicit(argument.type, target)
            if place not in kinds:
                continue
            kind = kinds[place]
            if not isinstance(argument, Literal) or type(argument.value) is not kind:
                raise TypeMismatch(f"argument {place + 1} must be a constant",
                                   "write a text in single quotes" if kind is str else "write a whole number")
            constants.append(argument.value)
        check(constants)
        return wanted[:len(arguments)], result
    return rule


def _extracted(constants: list[Constant]) -> None:
    pattern = _pattern(constants[0])
    count, group = regular_expressions.group_count(pattern), constants[1] if len(constants) > 1 else 1
    if not isinstance(group, int) or not 0 <= group <= count:
        raise TypeMismatch(f"the pattern has {count} group{'s' * (count != 1)}",
                           "write a group in parentheses, or 0 for the whole")
    _pattern(regular_expressions.with_one_group(pattern, group))


def _replaced(constants: list[Constant]) -> None:
    count = regular_expressions.group_count(_pattern(constants[0]))
    try:
        wrong = [group for group in regular_expressions.groups_named(str(constants[1])) if group > count]
    except ValueError as error:
        raise TypeMismatch(str(error), "write \\\\$ for the character itself, and $1 for the first group") from None
    if wrong:
        raise TypeMismatch(f"the pattern has no group {wrong[0]}", "write a group in parentheses, or $0 for the whole")


def _pattern(constant: Constant) -> str:
    """The regular expression, if RE2 takes it."""
    try:
        pc.match_substring_regex(pa.array(["a"]), str(constant))
    except pa.ArrowInvalid as error:
        raise TypeMismatch(f"the regular expression is not valid: {str(error).split(': ', 1)[-1]}", RE2) from None
    return str(constant)


def _bounded(constants: list[Constant]) -> None:
    if int(constants[0] or 0) > LENGTH_MAX:
        raise TypeMismatch(f"it is at most {LENGTH_MAX:,}", "write a smaller number")


def _numbered(constants: list[Constant]) -> None:
    if constants[0] == 0:
        raise TypeMismatch("parts are counted from 1, or from -1 for the last", "write split_part(s, ',', 1)")


def _known_bits(constants: list[Constant]) -> None:
    if constants[0] not in SHA2_BITS:
        raise TypeMismatch("the length is 224, 256, 384 or 512 bits", "write sha2(s, 256)")


def _path(constants: list[Constant]) -> None:
    if steps(str(constants[0])) is None:
        raise TypeMismatch("the path must be $, and then .name, ['name'] or [0]", "write get_json_object(s, '$.a.b[0]')")


FUNCTIONS = (
    Function("regexp_extract", 2, 3, _with(("STRING", "STRING", "INT"), "STRING", _extracted, {1: str, 2: int}),
             "regexp_extract(s, pattern[, group])", "a group (1) of the first match; '' without one"),
    Function("regexp_replace", 3, 3, _with(("STRING",) * 3, "STRING", _replaced, {1: str, 2: str}),
             "regexp_replace(s, pattern, by)", "each match replaced; $1 is the first group"),
    Function("split_part", 3, 3, _with(("STRING", "STRING", "INT"), "STRING", _numbered, {2: int}),
             "split_part(s, separator, n)", "the n-th part, from the end if n is negative; '' without one"),
    Function("concat_ws", 2, None, lambda arguments: (("STRING",) * len(arguments), "STRING"),
             "concat_ws(separator, a, ...)", "the texts that are not NULL, joined"),
    Function("instr", 2, 2, fixed(("STRING",) * 2, "INT"), "instr(s, t)",
             "where t begins in s, from 1; 0 if it is not there"),
    Function("locate", 2, 3, fixed(("STRING", "STRING", "INT"), "INT"), "locate(t, s[, from])",
             "where t begins in s, at from or later; 0 if it is not there"),
    Function("lpad", 2, 3, _with(("STRING", "INT", "STRING"), "STRING", _bounded, {1: int, 2: str}), "lpad(s, n[, pad])",
             "n characters: cut, or filled at the start"),
    Function("rpad", 2, 3, _with(("STRING", "INT", "STRING"), "STRING", _bounded, {1: int, 2: str}), "rpad(s, n[, pad])",
             "n characters: cut, or filled at the end"),
    Function("repeat", 2, 2, _with(("STRING", "INT"), "STRING", _bounded, {1: int}), "repeat(s, n)", "the text n times"),
    Function("initcap", 1, 1, fixed(("STRING",), "STRING"), "initcap(s)", "each word with a capital, the rest small"),
    Function("reverse", 1, 1, fixed(("STRING",), "STRING"), "reverse(s)", "the characters from the last to the first"),
    Function("translate", 3, 3, _with(("STRING",) * 3, "STRING", lambda constants: None, {1: str, 2: str}),
             "translate(s, letters, by)", "each of the letters replaced by that in its place, or left out"),
    Function("md5", 1, 1, fixed(("STRING",), "STRING"), "md5(s)", "the MD5 of its UTF-8 bytes, in hexadecimal"),
    Function("sha1", 1, 1, fixed(("STRING",), "STRING"), "sha1(s)", "the SHA-1, likewise"),
    Function("sha2", 2, 2, _with(("STRING", "INT"), "STRING", _known_bits, {1: int}), "sha2(s, bits)",
             "the SHA-2 of 224, 256, 384 or 512 bits, likewise"),
    Function("crc32", 1, 1, fixed(("STRING",), "BIGINT"), "crc32(s)", "the CRC-32 of its UTF-8 bytes"),
    Function("get_json_object", 2, 2, _with(("STRING", "STRING"), "STRING", _path, {1: str}), "get_json_object(s, path)",
             "the part of a JSON text that the path names"),
)
