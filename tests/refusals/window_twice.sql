-- over: statement
-- at: 1:39
-- title: WINDOWING is given twice
-- hint: remove one WINDOWING
SELECT count(*) FROM s WINDOWING 60 s WINDOWING 10 s
