-- over: continuous
-- at: 1:33
-- title: the event time timestamp cannot be part of a GROUP BY expression
-- hint: write GROUP BY timestamp and WINDOWING 60 s, or another length
SELECT count(*) FROM s GROUP BY timestamp / 1000 WINDOWING 60 s
