"""The dialect: SQL text to a query plan, and a plan back to words.

1. `read.parse` reads one statement (`statements`): our own clauses are cut out of its words, sqlglot reads the rest.
2. `check.compile` and `read.create` check it against a stream and give a mars.model.plan. Which stream a SELECT means
   (`statement.source`) the caller looks up; `refusals.unknown_source` refuses a name that is none.
3. `say.explain` says a plan in words, `say.spark` as plain Spark SQL; `guess` proposes a stream from some messages.

Every refusal is a mars.errors.SqlError with place, cause and hint (`refusals`), drawn by `say.render`.
This package reads text alone: it knows neither Kafka nor Spark nor the workers.
"""
