-- over: statement
-- at: 1:34
-- title: unexpected '60 s'
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING '60 s'
