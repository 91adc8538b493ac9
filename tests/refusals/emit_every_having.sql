-- over: continuous
-- at: 1:46
-- title: HAVING does not go with EMIT EVERY
-- hint: give the condition where results are read: WHERE of a SELECT or of a sink
SELECT count(*) FROM s WINDOWING 60 s HAVING count > 5 EMIT EVERY 5 s
