-- over: continuous
-- at: 1:38
-- title: unknown stream nosuch
-- hint: write s.window_start
SELECT sip, count(*) FROM s GROUP BY nosuch.window_start, sip WINDOWING 60 s
