"""Reducers turn partial aggregates from Redis into committed windows. Each owns key parts of streams; one of them leads.

Reading order: `job` (the process), `holdings` (its key parts), `remedies` (what follows an error), `keypart` (one step:
receive, merge, close, commit, trim). `inbox` is what an owner receives. `state` is what it holds: `queries` has all
queries, `merge` and `close` work on one; all are pure. `committing` makes it the truth: `assignment` (the right to
commit), `pace` (when), `truth`, `commit` (files and manifest), `pointer`, `trim`. The leader is in `leading`: `elect`
(who, under which epoch), `lead` (recovery, lanes, assignments), `lanes` (the positions of queries; pure), `watch_topic`
(partitions, idleness). `connections` are all ways to the outside; `run_reducer` hands them to `job`.
"""
