-- over: statement
-- at: 1:46
-- title: OFFSET 70 s is not below the step
-- hint: write OFFSET 10 s
SELECT count(*) FROM s WINDOWING 60 s OFFSET 70 s
