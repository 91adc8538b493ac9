-- over: statement
-- at: 1:44
-- title: LATE TO is not supported yet
-- hint: write LATE DROP: late tuples are dropped and counted
SELECT count(*) FROM s WINDOWING 60 s LATE TO other
