-- over: continuous
-- at: 1:12
-- title: a + b does not take STRING, INT
-- hint: write cast(... AS DOUBLE)
SELECT sum(sip + 1) FROM s WINDOWING 60 s
