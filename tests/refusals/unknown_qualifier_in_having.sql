-- over: continuous
-- at: 1:64
-- title: unknown stream nosuch
-- hint: write s.sip
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s HAVING nosuch.sip > 'a'
