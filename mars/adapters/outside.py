"""What the outside may come to: our own errors, those of files and those of ZooKeeper; and what helps against each."""

from __future__ import annotations

from mars.adapters.zookeeper import ZOOKEEPER_AWAY
from mars.errors import MarsError, Remedy

OUTSIDE = (MarsError, OSError, *ZOOKEEPER_AWAY)


def remedy_of(error: Exception) -> Remedy:
    """What helps against an error that is one of OUTSIDE: files and ZooKeeper come back by themselves."""
    return error.remedy if isinstance(error, MarsError) else Remedy.RETRY
