-- over: continuous
-- at: 1:57
-- title: EMIT CHANGES needs the key sip in the SELECT list
-- hint: add sip to the SELECT list
SELECT count(*) AS n FROM s GROUP BY sip WINDOWING 60 s EMIT CHANGES
