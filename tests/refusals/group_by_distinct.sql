-- over: continuous
-- at: 1:47
-- title: GROUP BY DISTINCT is not part of the dialect
-- hint: write GROUP BY a, b
SELECT sip, count(*) FROM s GROUP BY DISTINCT sip WINDOWING 60 s
