-- over: statement
-- at: 1:50
-- title: unexpected end of the statement
-- hint: write LATE UPDATE FOR 10 min
SELECT count(*) FROM s WINDOWING 60 s LATE UPDATE
