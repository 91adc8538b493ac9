"""Jars as pinned, hashed lists, fetched in parallel into the user's cache. Without a list, Kafka's is meant."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import ssl
import sys
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from api.instance.services.errors import SetupError
from api.instance.services.ivy import default_root
from api.instance.services.paths import cache_dir
from mars.config import Config

KAFKA_VERSION = "4.3.1"
_PARALLEL = 8
_TIMEOUT_S = 60
_TRIES = 3


@dataclass(frozen=True)
class Jar:
    """One line of a list: Maven coordinates group:artifact:version, size, SHA-256. `place` is the folder in the cache;
    Kafka's if it is empty."""

    coordinates: str
    size_bytes: int
    sha256: str
    place: str = ""

    @property
    def url_path(self) -> str:
        group, artifact, version = self.coordinates.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"

    @property
    def file(self) -> Path:
        return folder(self.place) / self.url_path.rpartition("/")[2]


def folder(place: str = "") -> Path:
    """Where the jars of a list lie."""
    return cache_dir() / (place or f"kafka-{KAFKA_VERSION}")


@lru_cache(maxsize=1)
def pinned() -> tuple[Jar, ...]:
    """All jars that Kafka needs."""
    return parse(resources.files("api.instance.services").joinpath("kafka_jars.txt").read_text())


def parse(text: str, place: str = "") -> tuple[Jar, ...]:
    """The jars of a list's text: a line each, with coordinates, size in bytes and SHA-256; # begins a comment line."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Jar(coordinates, int(size), sha256, place) for coordinates, size, sha256 in rows)


def missing(jars: Sequence[Jar] | None = None) -> list[Jar]:
    """The jars that are not there in full length; quick enough for every start."""
    return [jar for jar in (pinned() if jars is None else jars)
            if not jar.file.exists() or jar.file.stat().st_size != jar.size_bytes]


def damaged() -> list[Jar]:
    """The jars that are there with another content than the pinned one; reads them all."""
    return [jar for jar in pinned() if jar.file.exists() and _sha256(jar.file) != jar.sha256]


def classpath() -> str:
    """For `java -cp`. Raises SetupError if a jar is missing: no start fetches anything."""
    absent = missing()
    if absent:
        found = f"{len(absent)} of {len(pinned())} jars are missing in {folder()}"
        raise SetupError("Kafka is not set up", found, "make setup")
    return os.pathsep.join(str(jar.file) for jar in pinned())


def fetch(config: Config, jars: Sequence[Jar] | None = None, label: str = f"Kafka {KAFKA_VERSION}") -> int:
    """Fetches the missing ones of `jars`, which share one place, and returns how many those were. Jars that an
    interrupted fetch has brought whole are kept.

    Raises SetupError that names the jar, the cause and what to set.
    """
    absent = missing(jars)
    if not absent:
        return 0
    place = folder(absent[0].place)
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = missing(jars)
        root = (config.maven_url or default_root()).rstrip("/")
        total_mb = sum(jar.size_bytes for jar in wanted) / 1e6
        print(f"{label}: {len(wanted)} jars, {total_mb:.0f} MB", file=sys.stderr, flush=True)
        with ThreadPoolExecutor(_PARALLEL) as pool:
            for future in as_completed([pool.submit(_fetch, root, jar) for jar in wanted]):
                try:
                    future.result()
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
    return len(wanted)


def _fetch(root: str, jar: Jar) -> None:
    fault: Exception | None = None
    for attempt in range(_TRIES):
        try:
            _download(f"{root}/{jar.url_path}", jar)
            return
        except (OSError, ValueError) as error:
            fault = error
            time.sleep(attempt)
    raise SetupError(f"{jar.coordinates} cannot be fetched", str(fault),
                     "set maven_url (MARS_MAVEN_URL) to a Maven repository that this machine reaches, or "
                     "SSL_CERT_FILE to the certificates of your proxy, then: make setup") from fault


def _download(url: str, jar: Jar) -> None:
    """Fetches a jar. Raises ValueError if it is not what was pinned."""
    part = jar.file.with_suffix(".part")
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S, context=_trust()) as answer, part.open("wb") as target:
        shutil.copyfileobj(answer, target)
    if _sha256(part) != jar.sha256:
        size = part.stat().st_size
        part.unlink()
        raise ValueError(f"got {size} bytes that do not have the pinned SHA-256")
    part.replace(jar.file)


@lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    """The system's certificates; those of certifi besides, since some Python builds know no system's."""
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE"):
        import certifi
        context.load_verify_locations(certifi.where())
    return context


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
