-- over: continuous
-- at: 1:8
-- title: median does not take STRING
-- hint: write cast(... AS DOUBLE)
SELECT median(sip) FROM s WINDOWING 60 s
