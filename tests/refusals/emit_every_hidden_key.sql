-- over: continuous
-- at: 1:52
-- title: EMIT EVERY needs the key sip in the SELECT list
-- hint: add sip to the SELECT list
SELECT count(*) FROM s GROUP BY sip WINDOWING 60 s EMIT EVERY 5 s
