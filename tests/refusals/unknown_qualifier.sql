-- over: continuous
-- at: 1:40
-- title: unknown stream t
-- hint: write s.sip
SELECT t.sip, count(*) FROM s GROUP BY t.sip WINDOWING 60 s
