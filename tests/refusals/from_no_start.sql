-- over: statement
-- at: 1:44
-- title: unexpected beginning
-- hint: write FROM EARLIEST, FROM LATEST or FROM '2026-01-31T12:00:00Z'
SELECT count(*) FROM s WINDOWING 60 s FROM beginning
