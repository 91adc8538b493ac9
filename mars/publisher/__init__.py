"""Publishers: the workers that deliver closed windows to sinks.

`job` is the worker: it takes sinks, one owner each, and keeps a `Delivery` for each of its own. `delivery`, with what its
`desk` has, reads a query's closed rows in their total order (mars/results/tails.py) and hands them to a target with the mark
behind them, in a `batch`. `target` says what a target is; `postgres`, `kafka`, `iceberg`, `parquet` and `webhook` are
targets, and `targets` says which one a sink has. A target writes rows and mark in one transaction of its own, so that after
any fault the mark that it has is the truth, and whoever was fenced adds nothing. A webhook has no place for a mark: there
ZooKeeper's copy is the truth, and messages may come again.
"""
