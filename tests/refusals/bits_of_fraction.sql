-- over: once
-- at: 1:8
-- title: a & b does not take DOUBLE, INT
-- hint: write cast(... AS BIGINT)
SELECT ratio & 1 FROM s
