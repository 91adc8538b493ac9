"""Turns committed files into rows, for the API or a sink. Knows no web framework, no SQL and no configuration.

Reading order: `source` (what a reader works with), `snapshot` (a query as of the last commits), `tables` and
`open_windows` (its files as pieces), `rows` (which rows, in which order), `pages` with `cursors` and `tails` with
`event_ids` (the two ways of reading), `formats` (rows as text), `reason` and `waits` (why there are no rows yet),
`embedded` (SQL over rows).
"""
