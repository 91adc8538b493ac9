"""The command lines and files of settings of our own Java services, whatever characters the data folder's path has."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from api.instance.services.java import Java

LOG_CONFIG = Path(__file__).with_name("log4j2.properties")
# log4j writes warnings and worse to the file that mars.log.file (else JVM_LOG_FILE) names, nothing elsewhere.
LOG_OPTION = f"-Dlog4j2.configurationFile={LOG_CONFIG.as_uri()}"
# In the locale C a JVM reads each letter of its arguments that is not ASCII as a question mark.
ENVIRONMENT = {"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {}


def property_value(text: object) -> str:
    """The text as a value in a .properties file, which Java reads as Latin-1; its escapes are those of JSON."""
    return json.dumps(str(text))[1:-1]


def command(java: Java, classpath: str, heap_mb: int, log: Path, main: Sequence[str | Path]) -> list[str]:
    """`java` with a bounded heap, running `main`: options of its own, then the class, then its arguments.

    An out-of-memory error ends the process: a service that limps is worse than one that is seen to be gone.
    """
    return [str(java.executable), "-cp", classpath, f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true", LOG_OPTION, f"-Dmars.log.file={log}",
            *(str(word) for word in main)]
