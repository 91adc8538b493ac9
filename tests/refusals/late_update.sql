-- over: continuous
-- at: 1:51
-- title: HAVING does not go with LATE UPDATE
-- hint: give the condition where results are read: WHERE of a SELECT or of a sink
SELECT count(*) AS n FROM s WINDOWING 60 s HAVING count(*) > 1 LATE UPDATE FOR 5 min
