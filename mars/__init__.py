"""Mars: exact, live window statistics over Kafka topics, in SQL.

The truth is a reducer's commit: the open windows, the offsets up to which the log is in them, and the results of the
windows that it closed. One compare-and-set in ZooKeeper makes it visible. Kafka is the log; Redis may be emptied at any
moment.

    Kafka -> mapper: claim fetch decode parse spill aggregate push -> Redis
          -> reducer: receive merge close commit -> files under the state URI -> results -> api

    sql/      text to a query plan         mapper/   tuples to partial aggregates
    reducer/  partials to committed rows   api/      command line, REST, the processes

`api` may import all; `sql`, `mapper` and `reducer` do not know each other; this package imports none of them. It holds
what they share. To read: `model` (plans, commits, and where all lies), `algebra` (windows, aggregates, cells), `adapters`
and `lua` (the outside), `results` (committed files to rows), `publisher` (rows to sinks), `runtime` (time and threads),
`config`, `errors`.
docs/architecture.md has the words, the way of a tuple and the numbered rules that comments name.
"""
