-- over: continuous
-- at: 1:30
-- title: a condition is needed here
-- hint: compare it: ... <> 0
SELECT count(*) FROM s WHERE bytes WINDOWING 60 s
