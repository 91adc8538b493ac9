"""The Maven repository's address is read out of a Java class file."""

from __future__ import annotations

import struct

import pytest

from api.instance.services.ivy import _constant, default_root


def utf8(text: str) -> bytes:
    return b"\x01" + struct.pack(">H", len(text)) + text.encode()


def class_file(*constants: bytes) -> bytes:
    """A class with one interface, and the fields OTHER, without a value, and WANTED, constant 5."""
    pool = struct.pack(">H", len(constants) + 1) + b"".join(constants)
    head = struct.pack(">4sHH", b"\xca\xfe\xba\xbe", 0, 52)
    body = struct.pack(">HHHHH", 0, 0, 0, 1, 0)
    fields = struct.pack(">H4H", 2, 0, 1, 0, 0) + struct.pack(">4HHIH", 0, 2, 0, 1, 3, 2, 5)
    return head + pool + body + fields


def test_a_string_constant_is_found_among_others() -> None:
    data = class_file(utf8("OTHER"), utf8("WANTED"), utf8("ConstantValue"), utf8("it"), b"\x08\x00\x04")
    assert _constant(data, "WANTED") == "it"


def test_a_long_takes_two_places_of_the_table() -> None:
    data = class_file(utf8("OTHER"), utf8("WANTED"), utf8("ConstantValue"), utf8("x"), b"\x08\x00\x04",
                      b"\x05" + bytes(8))
    assert _constant(data[:8] + struct.pack(">H", 8) + data[10:], "WANTED") == "x"


def test_an_absent_constant_is_an_error() -> None:
    data = class_file(utf8("OTHER"), utf8("WANTED"), utf8("ConstantValue"), utf8("x"), b"\x08\x00\x04")
    with pytest.raises(KeyError):
        _constant(data, "OTHER")


def test_the_ivy_of_pyspark_names_a_repository() -> None:
    assert default_root().startswith("https://")
