-- over: statement
-- at: 1:24
-- title: WINDOWING SESSION is not supported yet
-- hint: write WINDOWING 60 s, WINDOWING 60 s EVERY 10 s, or WINDOWING LANDMARK EACH DAY EVERY 1 min
SELECT count(*) FROM s WINDOWING SESSION GAP 30 s
