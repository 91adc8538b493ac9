-- over: statement
-- at: 1:45
-- title: EVERY 2 min is longer than the window
-- hint: write WINDOWING 2 min, or EVERY 1 min or shorter
SELECT count(*) FROM s WINDOWING 60 s EVERY 120 s
