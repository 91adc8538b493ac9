"""What can go wrong between Mars and a sink's target, by what is to be done about it."""

from __future__ import annotations

from mars.errors import MarsError, NotReadyError


class TargetAwayError(NotReadyError):
    """The target does not answer, or has no room now: worth another try."""


class TargetRefusesError(MarsError):
    """The target refuses what no retry changes: the user, the table, a privilege. Somebody has to do something."""

    status = 409


class RowsRefusedError(TargetRefusesError):
    """The target refuses what rows hold."""


class FencedError(MarsError):
    """Another publisher has the sink: nothing of this one's gets into the target any more."""

    status = 409


class ProgressLostError(MarsError):
    """The target has no mark of the sink, or not what was delivered, although it was there."""

    status = 409
