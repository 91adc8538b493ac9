-- over: statement
-- at: 1:39
-- title: a step begins with EVERY
-- hint: write WINDOWING 1 min EVERY 10 s
SELECT count(*) FROM s WINDOWING 60 s SLIDE 10 s
