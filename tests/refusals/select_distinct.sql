-- over: once
-- at: 1:17
-- title: SELECT DISTINCT is not part of a SELECT over a stream
-- hint: write GROUP BY the columns, or count(DISTINCT x)
SELECT DISTINCT sip FROM s
