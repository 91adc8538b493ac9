-- over: statement
-- at: 1:34
-- title: WINDOWING cannot be 9223372036854775807 d
-- hint: write WINDOWING 60 s
SELECT count(*) FROM s WINDOWING 9223372036854775807 d
