"""Which statements look at the first windows alone."""

from __future__ import annotations

import pytest

from sql.read.window_order import WindowOrder, window_order


@pytest.mark.parametrize(("sql", "descending", "rows"), [
    ("SELECT * FROM q ORDER BY window_start DESC LIMIT 5", True, 5), ("FROM q ORDER BY WINDOW_END LIMIT 5 -- few", False, 5),
    ("SELECT d.k, round(x, 2) AS y FROM \"q\" AS d WHERE a IN (1, 2) AND NOT b IS NULL AND window_start >= TIMESTAMP "
     "'2024-01-01' - INTERVAL 1 HOUR ORDER BY d.window_start DESC NULLS LAST, y LIMIT 5 OFFSET 3", True, 5),
    ("SELECT date_trunc('hour', window_start) AS h, coalesce(k, 0) FROM q ORDER BY window_start LIMIT 0", False, 0)])
def test_rows_in_the_order_of_windows(sql, descending, rows):
    assert window_order(sql) == WindowOrder(descending, rows)


@pytest.mark.parametrize("select", [
    "SELECT DISTINCT k FROM q", "SELECT max(k) FROM q", "SELECT round(max(k)) FROM q", "SELECT list(k) FROM q",
    "SELECT own(k) FROM q", "SELECT k, sum(k) OVER () FROM q", "SELECT k FROM q GROUP BY k", "SELECT * FROM q, r",
    "SELECT * FROM q JOIN r USING (k)", "SELECT * FROM (SELECT * FROM q)", "SELECT * FROM q UNION FROM q",
    "SELECT k FROM q WHERE k IN (SELECT 1)", "SELECT * FROM q(3)", "WITH q AS (SELECT 1) SELECT * FROM q",
    "SELECT -k AS window_start FROM q", "SELECT * REPLACE (k AS window_start) FROM q", "SELECT * FROM q TABLESAMPLE 10%",
    "SELECT * FROM q AS t(k, window_start)", "SELECT * FROM q QUALIFY 1 = 1", "SELECT " + "(" * 5_000 + "k FROM q"])
def test_who_looks_at_more_than_a_row_looks_at_everything(select):
    assert window_order(f"{select} ORDER BY window_start LIMIT 5") is None


@pytest.mark.parametrize("end", [
    "ORDER BY window_start", "LIMIT 5", "ORDER BY k, window_start LIMIT 5", "ORDER BY window_start LIMIT 5%", "ORDER BY +",
    "ORDER BY window_start LIMIT ALL", "ORDER BY window_start LIMIT (SELECT 5)", "ORDER BY 1 LIMIT 5",
    "ORDER BY ALL LIMIT 5"])
def test_who_asks_for_other_rows_looks_at_everything(end):
    assert window_order(f"SELECT * FROM q {end}") is None
