-- over: statement
-- at: 1:54
-- title: unexpected KEEP
-- hint: write LATE DROP
SELECT count(*) FROM s WINDOWING 60 s GRACE 5 s LATE KEEP
