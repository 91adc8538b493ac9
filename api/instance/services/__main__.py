"""`python -m api.instance.services`, the last step of the set-up: finds Java, fetches Kafka; silent."""

from __future__ import annotations

import sys

from api.instance.services import jars, java
from mars.config import load
from mars.errors import MarsError


def main() -> int:
    """0, or 4 if the set-up is incomplete, with the reason on stderr."""
    try:
        config = load()
        found = java.find(config)
        if jars.fetch(config):
            print(f"Java {found.version} from {found.source}; Kafka {jars.KAFKA_VERSION} in {jars.folder()}")
    except MarsError as error:
        print(f"{error}\n{error.hint}".rstrip(), file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
