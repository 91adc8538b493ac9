-- over: continuous
-- at: 1:44
-- title: intervals are not part of the dialect
-- hint: calculate with unix_timestamp(t), in seconds
SELECT count(*) FROM s WHERE t > TIMESTAMP '2026-01-01' - INTERVAL 1 DAY WINDOWING 60 s
