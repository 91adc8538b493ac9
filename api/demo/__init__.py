"""`mars demo`: `command` joins a source of tuples (`source`, `own`, `topic`), the panel (`view`) and the check (`check`,
`count`). With `--into`, `into` delivers the results into a `postgres` of the demo's own.
"""
