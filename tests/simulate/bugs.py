"""Planted bugs, for tests alone: each takes one safeguard from the real code or from the scripts, and a run must show it.

`BUGS` maps a name to a context manager of the world. `RARE` are those that 1500 seeds need not show.
"""

from __future__ import annotations

from tests.simulate import (  # noqa: F401 they enter theirs
    bugs_changes,
    bugs_inside,
    bugs_late,
    bugs_outside,
    bugs_readers,
    bugs_retiring,
    bugs_timeout,
)
from tests.simulate.planted import BUGS

OF_CHANGES = frozenset(name for name in BUGS if name in vars(bugs_changes))
OF_LATE = frozenset(name for name in BUGS if name in vars(bugs_late))
OF_TIMEOUT = frozenset(name for name in BUGS if name in vars(bugs_timeout))

RARE = frozenset((
    "late_trims_lower_positions", "late_attaches_take_a_newer_lane", "late_attaches_bring_back_what_was_detached",
    "late_detaches_take_a_newer_lane", "late_facts_are_told", "late_marks_are_believed",
    "new_partitions_keep_closed_windows", "only_the_last_epoch_is_noted", "a_view_takes_queries_from_the_manifest",
    "whoever_lost_a_claim_stops_queries", "a_fall_back_leaves_cells_in_the_cache",
    "readers_see_windows_that_are_made_again", "revisions_are_numbered_as_before_a_fall_back",
    "readers_skip_the_rest_of_a_commit", "commits_are_read_before_the_generation_is_raised",
    "a_fall_back_keeps_late_tuples", "one_broker_is_believed", "files_of_late_tuples_are_swept",
    "who_retires_takes_claims_along"))  # who retires seldom holds a batch that waits: tests/mapper/test_fetching.py
