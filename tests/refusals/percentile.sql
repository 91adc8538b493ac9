-- over: once
-- at: 1:13
-- title: unknown function PERCENTILE_APPROX
-- hint: quantiles are not there yet; there are avg(x), min(x), max(x) and stddev(x), which are other statistics
SELECT sip, PERCENTILE_APPROX(bytes, 0.95) FROM s GROUP BY sip
