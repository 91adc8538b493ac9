"""The dialect: SQL text to a query plan, and a plan back to words.

1. `parse.parse` reads one statement: our own clauses are cut out of its words (`clauses`), sqlglot reads the rest.
2. `compile.compile_select` and `create.compile_stream` check it against a stream and give a mars.plan. Which stream a
   SELECT means (`statement.source`) the caller looks up; `refusals.unknown_source` refuses a name that is none.
3. `explain` says a plan in words, `spark` as plain Spark SQL; `guess` proposes a stream from some messages.

Every refusal is a mars.errors.SqlError with place, cause and hint (`refusals`), drawn by `render.caret`.
This package reads text alone: it knows neither Kafka nor Spark nor the workers.
"""
