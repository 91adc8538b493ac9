-- over: continuous
-- at: 1:8
-- title: unknown function median
-- hint: quantiles are not supported yet; avg(x), min(x), max(x) and stddev(x) are, but they are other statistics
SELECT median(bytes) FROM s WINDOWING 60 s
