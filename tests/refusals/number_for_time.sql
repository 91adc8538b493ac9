-- over: continuous
-- at: 1:33
-- title: hour(t) does not take BIGINT
-- hint: write cast(seconds AS TIMESTAMP)
SELECT count(*) FROM s GROUP BY hour(bytes) WINDOWING 60 s
