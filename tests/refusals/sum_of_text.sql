-- over: continuous
-- at: 1:8
-- title: sum does not take STRING
-- hint: write cast(... AS DOUBLE)
SELECT sum(sip) FROM s WINDOWING 60 s
