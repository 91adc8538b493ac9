-- over: continuous
-- at: 1:8
-- title: OVER is not part of the dialect
-- hint: make a query, and use OVER on its results
SELECT sum(bytes) OVER (PARTITION BY sip) FROM s WINDOWING 60 s
