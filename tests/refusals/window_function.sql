-- over: statement
-- at: 1:33
-- title: the window is given twice
-- hint: remove one of the two
SELECT count(*) FROM s GROUP BY window(t, '60 s') WINDOWING 60 s
