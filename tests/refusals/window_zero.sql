-- over: statement
-- at: 1:34
-- title: WINDOWING of 0 s does not fit
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 0 s
