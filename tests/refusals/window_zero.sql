-- over: statement
-- at: 1:34
-- title: WINDOWING cannot be 0 s
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 0 s
