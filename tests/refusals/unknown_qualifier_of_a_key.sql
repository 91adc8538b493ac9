-- over: continuous
-- at: 1:8
-- title: unknown stream nosuch
-- hint: write s.sip
SELECT nosuch.sip, count(*) FROM s GROUP BY sip WINDOWING 60 s
