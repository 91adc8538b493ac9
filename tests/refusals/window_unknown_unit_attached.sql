-- over: statement
-- at: 1:34
-- title: WINDOWING needs a unit of time
-- hint: write WINDOWING 10 s
SELECT count(*) FROM s WINDOWING 10sec
