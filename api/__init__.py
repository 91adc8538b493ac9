"""The faces of Mars, and the processes behind them: the one package that knows all others.

To read: `cli` (the command line and its client), `instance` (the supervisor, Kafka, ZooKeeper and Redis, the server with
Spark's driver and the workers' jobs), `rest` (paths and events), `statements` (SQL to effects and answers), `demo`. Rows
come from `mars.results`. Only `instance.jobs_daemon` and `statements.adhoc_job` touch `mapper`; what workers run stands in
`mars.workers`.
"""
