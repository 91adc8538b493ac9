-- over: continuous
-- at: 1:33
-- title: count is an aggregate and does not belong in GROUP BY
-- hint: group by a column, and aggregate in SELECT
SELECT count(*) FROM s GROUP BY count(*) WINDOWING 60 s
