"""Where Maven's central repository is, read out of the Ivy that comes with PySpark.

Ivy's class IBiblioResolver has it as the constant DEFAULT_M2_ROOT; a Java class file is a table of constants
followed by the fields that refer to them, which is all that is read here.
"""

from __future__ import annotations

import struct
import zipfile
from importlib.util import find_spec
from pathlib import Path

from api.instance.services.errors import SetupError

_CLASS = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
_FIELD = "DEFAULT_M2_ROOT"
_UTF8, _LONG, _DOUBLE, _STRING = 1, 5, 6, 8
# Bytes after the tag of each kind of constant but Utf8, which says its own length.
_SIZES = {3: 4, 4: 4, _LONG: 8, _DOUBLE: 8, 7: 2, _STRING: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4,
          18: 4, 19: 2, 20: 2}


def spark_jars() -> Path:
    """The folder of PySpark's own jars. Raises SetupError if PySpark is not installed."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("PySpark is not installed", hint="make setup")
    return Path(spec.submodule_search_locations[0]) / "jars"


def default_root() -> str:
    """The repository's address. Raises SetupError if PySpark's Ivy does not have it."""
    try:
        jar = next(spark_jars().glob("ivy-*.jar"))
        with zipfile.ZipFile(jar) as archive:
            return _constant(archive.read(_CLASS), _FIELD)
    except (StopIteration, OSError, KeyError, struct.error, zipfile.BadZipFile) as error:
        raise SetupError("PySpark's Ivy does not name a Maven repository", repr(error),
                         "set maven_url (MARS_MAVEN_URL) to a Maven repository") from None


def _constant(data: bytes, field: str) -> str:
    """The value of a static String field. Raises KeyError if the class has no such constant."""
    texts, strings, at = _constant_pool(data)
    interfaces = struct.unpack_from(">H", data, at + 6)[0]
    at += 8 + 2 * interfaces
    fields = struct.unpack_from(">H", data, at)[0]
    at += 2
    for _ in range(fields):
        _, name, _, attributes = struct.unpack_from(">4H", data, at)
        at += 8
        for _ in range(attributes):
            kind, length = struct.unpack_from(">HI", data, at)
            if texts[name] == field.encode() and texts[kind] == b"ConstantValue":
                string = struct.unpack_from(">H", data, at + 6)[0]
                return texts[strings[string]].decode()
            at += 6 + length
    raise KeyError(field)


def _constant_pool(data: bytes) -> tuple[dict[int, bytes], dict[int, int], int]:
    """The texts by index, the strings as the index of their text, and where the pool ends."""
    texts: dict[int, bytes] = {}
    strings: dict[int, int] = {}
    count = struct.unpack_from(">H", data, 8)[0]
    at, index = 10, 1
    while index < count:
        tag = data[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[index] = data[at + 3:at + 3 + length]
            at += 3 + length
        else:
            if tag == _STRING:
                strings[index] = struct.unpack_from(">H", data, at + 1)[0]
            at += 1 + _SIZES[tag]
        index += 2 if tag in (_LONG, _DOUBLE) else 1
    return texts, strings, at
