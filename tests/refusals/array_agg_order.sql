-- over: continuous
-- at: 1:18
-- title: ORDER BY does not belong inside a call
-- hint: remove ORDER BY
SELECT array_agg(bytes ORDER BY type, 5) FROM s WINDOWING 60 s
