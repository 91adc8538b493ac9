-- over: continuous
-- at: 1:30
-- title: the clock is not part of the dialect
-- hint: compare with a constant: TIMESTAMP '2026-01-31 12:00:00'
SELECT count(*) FROM s WHERE t > current_timestamp WINDOWING 60 s
