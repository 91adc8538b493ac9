"""The processes of one Mars: `up` and `supervisor` start `services` and the `server`, which runs Spark's driver, the `jobs`
of workers and the REST API; `watched` starts again what has ended.
"""
