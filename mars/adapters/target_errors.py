"""What can go wrong between Mars and a sink's target, by what is to be done about it."""

from __future__ import annotations

from mars.errors import Blame, ConflictError, NotReadyError, Remedy


class TargetAwayError(NotReadyError):
    """The target does not answer, or has no room now: worth another try, but not before `after_s`."""

    def __init__(self, title: str, detail: str = "", hint: str = "", *, after_s: float = 0.0) -> None:
        super().__init__(title, detail, hint)
        self.after_s = after_s


class TargetRefusesError(ConflictError):
    """The target refuses what no retry changes: the user, the table, a privilege. Somebody has to do something."""

    blame = Blame.ENVIRONMENT


class RowsRefusedError(TargetRefusesError):
    """The target refuses what rows hold."""


class FencedError(ConflictError):
    """Another publisher has the sink: nothing of this one's gets into the target any more."""

    blame = Blame.ENVIRONMENT
    remedy = Remedy.READ_AGAIN


class ProgressLostError(ConflictError):
    """The target has no mark of the sink, or not what was delivered, although it was there."""

    blame = Blame.ENVIRONMENT
