"""The interfaces of Mars, and the processes behind them. The one package that knows all others.

Reading order: `cli` (the command line and its client), `instance` (the supervisor, Kafka, ZooKeeper and Redis, the server
with Spark's driver and the workers' jobs), `rest` (paths and events), `statements` (SQL to effects and answers), `demo`.
Rows come from `mars.results`. Only `instance.jobs_daemon` and `statements.adhoc_job` touch `mapper`; `mars.workers` has
what workers run.
"""
