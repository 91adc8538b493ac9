"""Errors that `make setup` would fix."""

from __future__ import annotations

from mars.errors import MarsError


class SetupError(MarsError):
    """Something that the set-up leaves behind is missing or broken; the command line exits with 4."""
