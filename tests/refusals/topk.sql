-- over: continuous
-- at: 1:8
-- title: unknown function topk
-- hint: write count(*) with GROUP BY x; a SELECT over the query's rows with ORDER BY count DESC LIMIT 10 gives the largest
SELECT topk(sip, 10) FROM s WINDOWING 60 s
