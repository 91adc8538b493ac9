-- over: statement
-- at: 1:33
-- title: unexpected end of the statement
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING
