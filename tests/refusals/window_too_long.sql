-- over: statement
-- at: 1:34
-- title: WINDOWING cannot be 40000 d
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 40000 days
