-- over: statement
-- at: 1:54
-- title: LATE TO is not supported yet
-- hint: write LATE DROP: late tuples are dropped and counted
SELECT count(*) FROM s WINDOWING 60 s GRACE 5 s LATE TO other
