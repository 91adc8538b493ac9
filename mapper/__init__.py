"""Mappers: ranges of a topic to partial aggregates in Redis. Peers, without a leader and without a rebalance.

To read in the order of a tuple: `job` joins the steps; `claim` and `lease` (a range for a while), `read` and `fetch`
(whole record batches), `decode` (checked and plain records), `fused` and `parse` (Arrow columns, once for all queries),
`spill` (the local file), `aggregate` (one query's cells), `push`. `kernels` are the compiled loops, `warm` compiles them,
`records` and `batch` say what goes from step to step. `decode`, `fused`, `parse` and `aggregate` are pure.
"""
