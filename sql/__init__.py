"""The dialect: SQL text to a query plan, and a plan back to words.

1. `read.parse` reads one statement (`statements`). It cuts our own clauses out of its words; sqlglot parses the rest. 2.
`check.compile` and `read.create` check it against a stream and give a mars.model.plan. The caller looks up which stream a
SELECT means (`statement.source`); `refusals.unknown_source` refuses an unknown name. 3. `say.explain` says a plan in
words, `say.spark` as plain Spark SQL; `guess` proposes a stream from some messages.

Every refusal is a mars.errors.SqlError with place, cause and hint (`refusals`), drawn by `say.render`. This package works
on text alone: it knows neither Kafka nor Spark nor the workers.
"""
