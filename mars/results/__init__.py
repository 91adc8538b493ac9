"""Committed files to rows, for the API as for a sink: knows no web framework, no SQL and no configuration.

To read: `source` (what a reader works with), `snapshot` (a query as of the last commits), `tables` and `open_windows` (its
files as pieces), `rows` (which rows, in which order), `pages` with `cursors`, and `tails` with `event_ids` (the two ways of
reading), `formats` (rows as text), `reason` and `waits` (why there are none yet), `embedded` (SQL over rows).
"""
