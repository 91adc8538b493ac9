"""Python runs this at the start of each of Mars's processes that the nemesis has started: it is first on their PYTHONPATH.

Only the parent of Spark's Python workers is changed, which forks all mappers and reducers, and the server for bugs of the
API. Production code knows nothing of it.
"""

import os
import sys
from pathlib import Path

SWITCHES = os.environ.get("NEMESIS_SWITCHES")

if SWITCHES and "api.instance.jobs_daemon" in sys.orig_argv:
    from tests.nemesis import hooks

    hooks.install(SWITCHES, list(filter(None, os.environ.get("NEMESIS_NODES", "").split(","))))
elif SWITCHES and "api.instance.server" in sys.orig_argv:
    from tests.nemesis import hooks

    hooks.plant_when_told(Path(SWITCHES))
