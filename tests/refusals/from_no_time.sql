-- over: statement
-- at: 1:44
-- title: 'yesterday' is not a time
-- hint: write FROM '2026-01-31T12:00:00Z'
SELECT count(*) FROM s WINDOWING 60 s FROM 'yesterday'
