"""What `make setup` would mend."""

from __future__ import annotations

from mars.errors import MarsError


class SetupError(MarsError):
    """Something that the set-up leaves behind is missing or broken; the command line exits with 4."""
