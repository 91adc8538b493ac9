-- over: once
-- at: 1:13
-- title: unknown function PERCENTILE_APPROX
-- hint: quantiles are not supported yet; avg(x), min(x), max(x) and stddev(x) are, but they are other statistics
SELECT sip, PERCENTILE_APPROX(bytes, 0.95) FROM s GROUP BY sip
