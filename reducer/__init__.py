"""Reducers: partial aggregates from Redis to committed windows. Each owns key parts of streams; one of them leads.

To read: `job` (what is ours), `keypart` (one step: receive, merge, close, commit, trim), `merge` and `close` (pure), `pace`
(when to commit), `commit` (files and what a manifest says), `pointer` (a commit becomes the truth), `trim`. The leader:
`elect` (who, under which epoch), `lead` (recovery, lanes, assignments), `lanes` (where queries stand; pure), `watch_topic`
(partitions, idleness).
"""
