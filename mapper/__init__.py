"""Mappers: ranges of a topic to partial aggregates in Redis. Peers, without a leader and without a rebalance.

To read in the order of a tuple: `job` joins the steps; `claim` and `lease` (a range for a while), `read` and `fetch`
(whole record batches), `decode` (places of values), `parse` (Arrow columns, once for all queries), `spill` (the local
file), `aggregate` (one query's cells), `push`. `fetching` and `computing` are the two threads, `handoff` is between them,
`isolation` keeps alone what may kill. `connections` are all ways to the outside, handed to `job` by `run_mapper`. `kernels`
are the compiled loops, `warm` compiles them, `batch` says what goes from step to step. `decode`, `parse` and `aggregate` are
pure.
"""
