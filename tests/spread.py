"""How the tests are spread over processes (`make test`): whole files, the longest first, so that all end together.

A file stays in one process, because its tests share what they start; so do the files of a unit below. pytest without
`-n` knows nothing of this.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

from api.instance.services import ports

# By what they take, the longest first; all others follow in the order of their names. The files of one line share what
# is slow to start: a whole Mars, or Spark in this process.
LONGEST = (
    ("benchmarks/test_overload.py", "benchmarks/test_scaling.py", "benchmarks/test_throughput.py",
     "benchmarks/test_latency.py", "benchmarks/test_backfill.py", "benchmarks/test_steady.py"),
    ("faults/test_crash_points.py",),
    ("api/instance/test_up.py",),
    ("test_queries.py",),
    ("mapper/test_bounds.py",),
    ("simulate/test_simulate.py",),
    ("simulate/test_reach.py",),
    ("nemesis/test_campaign.py",),
    ("faults/test_states.py",),
    ("publisher/test_sinks.py", "publisher/test_postgres.py"),
    ("faults/test_zombies.py",),
    ("mapper/test_read_kafka.py",),
    ("test_differential.py", "mars/algebra/test_evaluate_against_spark.py", "sql/test_types_against_spark.py",
     "sql/test_forms_against_spark.py"),
    ("faults/test_timeout.py",),
    ("faults/test_late_to.py",),
    ("faults/test_dead_letters.py",),
    ("faults/test_truncated.py",),
    ("benchmarks/test_roofline.py",),
    ("api/instance/services/test_services.py",),
    ("api/instance/test_secure_kafka.py",),
    ("api/rest/test_openapi.py",),
    ("mars/test_one_answer.py",),
)
RANKS = {f"tests/{file}": rank for rank, files in enumerate(LONGEST) for file in files}


def unit(test: str) -> tuple[int, str]:
    """What runs in one process, in the order in which units begin: the unit of a line above, or one file."""
    file = test.split("::", 1)[0]
    rank = RANKS.get(file, len(LONGEST))
    return (rank, file if rank == len(LONGEST) else "")


class Units(LoadScopeScheduling):
    """Gives each process that has nearly done its work the next unit."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return str(unit(nodeid))


def prepare(config: pytest.Config) -> None:
    """In one of several processes: pick ports from a range that no other one of them picks from."""
    if own := getattr(config, "workerinput", None):
        number, width = int(own["workerid"][2:]), (ports._LAST - ports._FIRST) // own["workercount"]
        ports._FIRST, ports._LAST = ports._FIRST + number * width, ports._FIRST + (number + 1) * width
