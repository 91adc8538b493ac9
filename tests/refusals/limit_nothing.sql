-- over: continuous
-- at: 1:79
-- title: LIMIT 0 of a continuous query shows nothing
-- hint: write LIMIT 10
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s ORDER BY 2 DESC LIMIT 0
