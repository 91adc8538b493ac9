-- over: once
-- at: 1:51
-- title: unknown stream nosuch
-- hint: write s.sip
SELECT sip, count(*) FROM s GROUP BY sip ORDER BY nosuch.sip
