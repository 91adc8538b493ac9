"""The parent of Spark's Python processes. It imports what the workers run, so each of them starts by a fork.

Spark runs it as `python -m api.instance.jobs_daemon` in place of its own daemon. Without it, every worker would load
numba, Arrow and the kernels itself, and a killed worker would be back only seconds later.
"""

from __future__ import annotations

import gc
import logging
import sys

from pyspark import daemon

import mapper.warm
import mars.publisher.job
import mars.warm
from mars.workers import KINDS


def main() -> None:
    """Load the kernels, then do what Spark's daemon does. Stdout belongs to Spark: nothing else may be written to it."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr,
                        format="%(asctime)s %(process)d %(levelname)s %(name)s %(message)s")
    for chatty in ("kafka", "kazoo", "py4j"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    for kind in KINDS:
        kind.load()
    mapper.warm.warm(say=lambda *_, **__: None)
    mars.warm.warm()
    gc.freeze()  # so that garbage collection in a worker does not copy the pages that it shares with this process
    daemon.manager()


if __name__ == "__main__":
    main()
