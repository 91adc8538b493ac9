-- over: continuous
-- at: 1:17
-- title: unknown type JSON
-- hint: write INT, BIGINT, DOUBLE, DECIMAL(p, s) or STRING
SELECT sum(cast(sip AS JSON)) FROM s WINDOWING 60 s
