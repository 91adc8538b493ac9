-- over: statement
-- at: 1:34
-- title: unexpected -
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING -5 s
