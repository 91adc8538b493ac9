"""Reducers: partial aggregates from Redis to committed windows. Each owns key parts of streams; one of them leads.

To read: `job` (the process), `holdings` (what is ours), `remedies` (what follows an error), `keypart` (one step: receive,
merge, close, commit, trim). `inbox` is what an owner hears. `state` is what it holds: `queries`, all of them, and of each
`merge` and `close`, pure. `committing` makes it the truth: `assignment` (by which right), `pace` (when), `truth`, `commit`
(files and what a manifest says), `pointer`, `trim`. The leader is in `leading`: `elect` (who, under which epoch), `lead`
(recovery, lanes, assignments), `lanes` (where queries stand; pure), `watch_topic` (partitions, idleness). `connections` are
all ways to the outside, handed to `job` by `run_reducer`.
"""
