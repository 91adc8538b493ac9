"""Python runs this at the start of each of Mars's processes that the nemesis has started: it is first on their PYTHONPATH.

Only the parent of Spark's Python workers is changed, which forks all mappers and reducers. Production code knows nothing
of it.
"""

import os
import sys

if "api.jobs_daemon" in sys.orig_argv and os.environ.get("NEMESIS_SWITCHES"):
    from tests.nemesis import hooks

    hooks.install(os.environ["NEMESIS_SWITCHES"], os.environ.get("NEMESIS_BUG", ""),
                  list(filter(None, os.environ.get("NEMESIS_NODES", "").split(","))))
