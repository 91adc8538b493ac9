-- over: continuous
-- at: 1:46
-- title: a condition is needed here
-- hint: compare it: ... <> 0
SELECT count(*) FROM s WINDOWING 60 s HAVING sum(bytes)
