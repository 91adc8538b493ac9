-- over: continuous
-- at: 1:8
-- title: corr does not take BIGINT, STRING
-- hint: write cast(... AS DOUBLE)
SELECT corr(bytes, sip) FROM s WINDOWING 60 s
