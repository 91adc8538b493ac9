-- over: statement
-- at: 1:44
-- title: unexpected 0
-- hint: write RATE 100000
SELECT count(*) FROM s WINDOWING 60 s RATE 0
