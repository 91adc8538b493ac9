-- over: statement
-- at: 1:24
-- title: WINDOWING COUNT is not supported yet
-- hint: write WINDOWING 60 s, WINDOWING 60 s EVERY 10 s, LANDMARK EACH DAY EVERY 1 min, or SESSION GAP 5 min
SELECT count(*) FROM s WINDOWING COUNT 100
