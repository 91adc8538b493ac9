-- over: continuous
-- at: 1:8
-- title: sum needs a column
-- hint: write sum(x)
SELECT sum(*) FROM s WINDOWING 60 s
