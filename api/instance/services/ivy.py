"""Where Maven's central repository is, read out of the Ivy that comes with PySpark.

Ivy's class IBiblioResolver has it as a constant; texts lie in a class file as they are.
"""

from __future__ import annotations

import re
import zipfile
from importlib.util import find_spec
from pathlib import Path

from api.instance.services.errors import SetupError

_CLASS = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
_ROOT = re.compile(rb"https://[!-~]+?/maven2/")


def spark_jars() -> Path:
    """The folder of PySpark's own jars. Raises SetupError if PySpark is not installed."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("PySpark is not installed", hint="make setup")
    return Path(spec.submodule_search_locations[0]) / "jars"


def default_root(jars: Path | None = None) -> str:
    """The repository's address, by the Ivy in a folder of jars, PySpark's if none is given. Raises SetupError if that does
    not have it."""
    try:
        jar = next((jars or spark_jars()).glob("ivy-*.jar"))
        with zipfile.ZipFile(jar) as archive:
            return _ROOT.findall(archive.read(_CLASS))[0].decode()
    except (StopIteration, OSError, LookupError, zipfile.BadZipFile) as error:
        raise SetupError("PySpark's Ivy does not name a Maven repository", repr(error),
                         "set maven_url (MARS_MAVEN_URL) to a Maven repository") from None
