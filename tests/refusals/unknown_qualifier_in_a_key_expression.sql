-- over: continuous
-- at: 1:14
-- title: unknown stream nosuch
-- hint: write s.sip
SELECT upper(nosuch.sip), count(*) FROM s GROUP BY upper(sip) WINDOWING 60 s
