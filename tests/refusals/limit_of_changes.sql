-- over: continuous
-- at: 1:79
-- title: ORDER BY .. LIMIT does not go with EMIT CHANGES
-- hint: give them where results are read
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s EMIT CHANGES ORDER BY 2 LIMIT 5
