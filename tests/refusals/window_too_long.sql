-- over: statement
-- at: 1:34
-- title: WINDOWING of 40000 d does not fit
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 40000 days
