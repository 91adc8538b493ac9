"""The texts of JSON strings with escapes in them."""

from __future__ import annotations

from numba import types

from mapper.kernels import I64, OUT_I64, OUT_U8, U8, helper, kernel
from mapper.kernels.json_tokens import BACKSLASH, hex_value


@helper
def put_utf8(code, out, n):
    """Appends a code point, even a lone surrogate (whose three bytes are not UTF-8); returns the place after it."""
    if code < 0x80:
        out[n] = code
        return n + 1
    if code < 0x800:
        out[n], out[n + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return n + 2
    if code < 0x10000:
        out[n], out[n + 1], out[n + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return n + 3
    out[n], out[n + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[n + 2], out[n + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return n + 4


@helper
def plain_string(buffer, at, end, out, n):
    """Appends the text of the checked string content [at, end) to `out`; returns the place after it."""
    while at < end:
        if buffer[at] != BACKSLASH:
            out[n] = buffer[at]
            n, at = n + 1, at + 1
            continue
        letter = buffer[at + 1]
        if letter != 117:
            out[n] = (8 if letter == 98 else 12 if letter == 102 else 10 if letter == 110 else 13 if letter == 114
                      else 9 if letter == 116 else letter)
            n, at = n + 1, at + 2
            continue
        code = hex_value(buffer, at + 2, end)
        at += 6
        if 0xD800 <= code < 0xDC00 and at + 6 <= end and buffer[at] == BACKSLASH and buffer[at + 1] == 117:
            low = hex_value(buffer, at + 2, end)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                at += 6
        n = put_utf8(code, out, n)
    return n


@kernel(types.void(U8, I64, I64, OUT_U8, OUT_I64))
def unescape(buffer, start, length, out, out_end):
    """Copies the text of each (checked) string to `out`; string i ends at out_end[i]."""
    n = 0
    for i in range(len(start)):
        n = plain_string(buffer, start[i], start[i] + length[i], out, n)
        out_end[i] = n
