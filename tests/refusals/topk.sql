-- over: continuous
-- at: 1:8
-- title: unknown function topk
-- hint: GROUP BY x counts every x; a SELECT over the query's rows with ORDER BY count DESC LIMIT 10 has the greatest
SELECT topk(sip, 10) FROM s WINDOWING 60 s
