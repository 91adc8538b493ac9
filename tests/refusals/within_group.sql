-- over: continuous
-- at: 1:8
-- title: WITHIN GROUP is not part of the dialect
-- hint: write percentile(x, 0.95), array_agg(x, 100) or string_agg(x, ', ', 100)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes) FROM s WINDOWING 60 s
