"""The faces of Mars, and the processes behind them: the one package that knows all others.

To read: `cli` and `commands` (the command line), `up` (the supervisor) and `services` (Kafka, ZooKeeper, Redis), `server`
(Spark's driver, `jobs` of workers, the API), `app` and `routes_*` (REST), `statements*` (SQL to effects), `results*` and
`events` (committed files to rows), `adhoc` and `adhoc_job` (a SELECT that runs once), `embedded` (SQL over results),
`demo*`. Only `up`, `jobs` and `adhoc_job` touch `mapper` and `reducer`.
"""
