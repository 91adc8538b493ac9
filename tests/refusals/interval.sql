-- over: continuous
-- at: 1:68
-- title: an interval is a constant
-- hint: write t + INTERVAL '1' DAY, or INTERVAL '90' SECOND
SELECT count(*) FROM s WHERE t > TIMESTAMP '2026-01-01' - INTERVAL type DAY WINDOWING 60 s
