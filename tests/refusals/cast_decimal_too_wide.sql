-- over: continuous
-- at: 1:17
-- title: DECIMAL(50, 2) is not a type
-- hint: write DECIMAL(38, 2)
SELECT sum(cast(sip AS DECIMAL(50,2))) FROM s WINDOWING 60 s
