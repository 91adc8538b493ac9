-- over: once
-- at: 1:38
-- title: p of PERCENTILE_APPROX must be a constant from 0 to 1
-- hint: write approx_percentile(x, 0.95)
SELECT sip, PERCENTILE_APPROX(bytes, 95) FROM s GROUP BY sip
