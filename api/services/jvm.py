"""The command lines of our own Java services."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from api.services.java import Java

LOG_CONFIG = Path(__file__).with_name("log4j2.properties")


def log_options(log: Path) -> list[str]:
    """Options with which log4j writes warnings and worse to the file `log`, and nothing elsewhere."""
    return [f"-Dlog4j2.configurationFile={LOG_CONFIG.as_uri()}", f"-Dmars.log.file={log}"]


def command(java: Java, classpath: str, heap_mb: int, log: Path, main: Sequence[str | Path]) -> list[str]:
    """`java` with a bounded heap, running `main`: options of its own, then the class, then its arguments.

    An out-of-memory error ends the process: a service that limps is worse than one that is seen to be gone.
    """
    return [str(java.executable), "-cp", classpath, f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true", *log_options(log), *(str(word) for word in main)]
