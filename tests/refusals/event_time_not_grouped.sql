-- over: continuous
-- at: 1:8
-- title: column timestamp is not grouped
-- hint: add timestamp to GROUP BY, or aggregate it: first(timestamp), max(timestamp)
SELECT timestamp, count(*) FROM s WINDOWING 60 s
