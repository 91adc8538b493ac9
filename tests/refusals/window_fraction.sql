-- over: statement
-- at: 1:34
-- title: unexpected 1.5
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 1.5 s
