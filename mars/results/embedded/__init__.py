"""DuckDB over results: `engine` runs a SELECT, `scan` gives it rows piece by piece, `watch` enforces its limits."""
