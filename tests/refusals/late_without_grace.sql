-- over: statement
-- at: 1:39
-- title: LATE must follow GRACE
-- hint: write GRACE 0 s LATE DROP: late tuples are dropped and counted
SELECT count(*) FROM s WINDOWING 60 s LATE UPDATE
