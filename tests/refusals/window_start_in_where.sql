-- over: continuous
-- at: 1:30
-- title: window_start does not belong in WHERE
-- hint: name it in SELECT, HAVING or ORDER BY of a SELECT with WINDOWING
SELECT count(*) FROM s WHERE window_start > '2026-01-01' WINDOWING 60 s
