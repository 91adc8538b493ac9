"""What no simulated run calls of the workers' code, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatch

from tests.simulate.reach import functions

FOLDERS = ("mapper", "reducer")
SEEDS_MAX = 600
TUPLES = "bytes to tuples to cells: without state beyond one batch, and replaced by lists of ids (cells.py)"
PROCESS = "begins or ends the process itself"
# By `file:function`, * for any: what no run reaches, and why.
UNREACHED = {
    "mapper/aggregate.py:*": TUPLES,
    "mapper/batch.py:CountedBatch.__len__": TUPLES,
    "mapper/batch.py:Messages.__len__": TUPLES,
    "mapper/batch.py:Messages.at": TUPLES,
    "mapper/batch.py:Messages.part": TUPLES,
    "mapper/batch.py:ParsedBatch.*": TUPLES,
    "mapper/common.py:C*": TUPLES,
    "mapper/common.py:Divided*": TUPLES,
    "mapper/common.py:Planner.__init__": "called once, when the modules of the simulation are loaded",
    "mapper/common.py:Planner._sharing": TUPLES,
    "mapper/common.py:_*": TUPLES,
    "mapper/csv_fields.py:*": TUPLES,
    "mapper/decode.py:*": TUPLES,
    "mapper/fused.py:Counts.count": TUPLES,
    "mapper/fused.py:_json": TUPLES,
    "mapper/fused.py:FusedReader._hand_over": TUPLES,
    "mapper/fused.py:FusedReader._lengthen": TUPLES,
    "mapper/fused.py:FusedReader._read_part": TUPLES,
    "mapper/fused.py:FusedReader.array": TUPLES,
    "mapper/fused.py:FusedReader.batch": TUPLES,
    "mapper/fused.py:FusedReader.is_text": TUPLES,
    "mapper/fused.py:FusedReader.read": TUPLES,
    "mapper/fused.py:FusedReader.text_count": TUPLES,
    "mapper/fused_batch.py:FusedBatches._rest": TUPLES,
    "mapper/fused_batch.py:FusedBatches._result": TUPLES,
    "mapper/fused_batch.py:FusedBatches._tables_of": TUPLES,
    "mapper/fused_batch.py:FusedBatches.count": TUPLES,
    "mapper/fused_batch.py:FusedBatches.parse": TUPLES,
    "mapper/fused_batch.py:greatest_of": TUPLES,
    "mapper/fused_batch.py:together": TUPLES,
    "mapper/fused_cells.py:*": TUPLES,
    "mapper/fused_dictionaries.py:Dictionaries._take_over": TUPLES,
    "mapper/fused_dictionaries.py:Dictionaries._used": TUPLES,
    "mapper/fused_dictionaries.py:Dictionaries.arrow": TUPLES,
    "mapper/fused_dictionaries.py:Dictionaries.grow": TUPLES,
    "mapper/fused_dictionaries.py:Dictionaries.trim": TUPLES,
    "mapper/fused_numbers.py:*": TUPLES,
    "mapper/json_fields.py:*": TUPLES,
    "mapper/kernels/*:*": TUPLES,
    "mapper/parse*.py:*": TUPLES,
    "mapper/parsing.py:Parsing._fused": TUPLES,
    "mapper/records.py:*": TUPLES,
    "mapper/timing.py:Limits.alike": TUPLES,
    "mapper/timing.py:_in_units": TUPLES,
    "mapper/timing.py:_judged": TUPLES,
    "mapper/timing.py:_of_tuples": TUPLES,
    "mapper/timing.py:_time_reads": TUPLES,
    "mapper/timing.py:judge": TUPLES,
    "mapper/timing.py:time_reasons": TUPLES,
    "mapper/warm.py:*": TUPLES,
    "mapper/fetch.py:Range.messages": TUPLES,
    "mapper/fetch.py:Reader*": "Kafka's protocol, which kafka.py replaces; tests/mapper and the model Fetching",
    "mapper/fetch.py:open_reader": "as Reader",
    "mapper/surplus.py:*": "as Reader: what one answer of Kafka brings beyond a claim",
    "mapper/letters.py:*": "no tuple is bad here but by poison; readers of dead letters have tests of their own",
    "mapper/push.py:without_letters": "as mapper/letters.py",
    "mapper/push.py:never_taken": "words for a user, after a minute of a full Redis that takes others",
    "mapper/push.py:_stops": "as never_taken",
    "mapper/sharing.py:*": TUPLES,
    "mapper/spill.py:Spill.*": "local files, which storage.py replaces; tests/mapper/test_spill.py",
    "mapper/spill.py:_*": "as Spill",
    "mapper/job.py:run_mapper": PROCESS,
    "mapper/connections.py:connect": PROCESS,
    "reducer/job.py:run_reducer": PROCESS,
    "reducer/connections.py:*": PROCESS,
    "reducer/remedies.py:Remedies.recover": "an invariant is broken by bugs, or a Redis that was set back unseen",
    "reducer/breach.py:*": "as Remedies.recover",
    "reducer/committing/closed.py:Closed.none": TUPLES,
    "reducer/committing/closed.py:Late.*": TUPLES,
    "reducer/state/limits.py:_where": "words for a user whose query is too large; tests/reducer/state",
    "reducer/state/computation.py:U*": "cells of a simulated query can always be computed",
    "reducer/remedies.py:Remedies.quarantine": "as UncomputableError",
    "reducer/committing/fallback.py:_stop_lost": "one of the earlier commits is always whole; tests/reducer shows it",
    "reducer/leading/lead.py:Leader._delete": "deletes a real folder, of a dropped stream: there is one stream here",
    "reducer/leading/lead.py:Leader._is_gone": "as Leader._delete",
    "reducer/leading/watch_topic.py:TopicWatch._miss": "the topic is made anew here, and never gone",
}


def missing(found: set[str]) -> list[str]:
    """Functions that are neither reached nor listed."""
    return sorted(name for name in functions(FOLDERS) - found if not any(fnmatch(name, listed) for listed in UNREACHED))
