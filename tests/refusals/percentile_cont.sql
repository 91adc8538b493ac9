-- over: continuous
-- at: 1:8
-- title: unknown function percentile_cont
-- hint: write percentile(x, 0.95), which is exact, or approx_percentile(x, 0.95)
SELECT percentile_cont(bytes, 0.5) FROM s WINDOWING 60 s
