"""Mappers turn ranges of a topic into partial aggregates in Redis. They are peers, without a leader and without a
rebalance.

Reading order, which is that of a tuple: `job` joins the steps; `claim` (with `fronts`) and `lease` (a range for a while),
`fetch` (whole record batches), `decode` (checked and plain records), `parsing` (Arrow columns, once for all queries, by way
of `fused` and `parse`), `spill` (the local file), `aggregate` (one query's cells), `push`. `fetching` and `computing` are
the two threads, `handoff` is between them, `isolation` keeps claims alone that may kill. `connections` are all ways to the
outside; `run_mapper` hands them to `job`. `kernels` are the compiled loops, `warm` compiles them, `records` and `batch` say
what goes from step to step. `decode`, `fused`, `parse` and `aggregate` are pure.
"""
