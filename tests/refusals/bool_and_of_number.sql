-- over: continuous
-- at: 1:8
-- title: every does not take INT
-- hint: write cast(... AS BOOLEAN)
SELECT every(type) FROM s WINDOWING 60 s
