"""`python -m tests.model [NAME ...]`: explores the models (or those named), then each without each safeguard, and prints
the counterexamples that this leads to."""

from __future__ import annotations

import sys

from tests.model.explore import explore
from tests.model.models import removals, whole


def main(names: list[str]) -> int:
    """0 if the models hold and no removal does."""
    failed, states, seconds = 0, 0, 0.0
    for models, holds in ((whole(), True), (removals(), False)):
        for model in models:
            if not names or type(model).__name__ in names:
                outcome = explore(model)
                print(outcome, flush=True)
                failed += (outcome.broken is None) != holds
                states, seconds = states + outcome.states, seconds + outcome.seconds
    print(f"{states} states in {seconds:.1f} s, {failed} not as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
