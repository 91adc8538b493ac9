-- over: continuous
-- at: 1:8
-- title: unknown function median
-- hint: quantiles are not there yet; there are avg(x), min(x), max(x) and stddev(x), which are other statistics
SELECT median(bytes) FROM s WINDOWING 60 s
