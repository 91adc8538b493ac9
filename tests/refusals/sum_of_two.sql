-- over: continuous
-- at: 1:8
-- title: sum takes one argument
-- hint: write sum(x)
SELECT sum(bytes, type) FROM s WINDOWING 60 s
