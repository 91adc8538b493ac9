-- over: continuous
-- at: 1:8
-- title: DISTINCT does not work with stddev
-- hint: write count(DISTINCT x)
SELECT stddev(DISTINCT bytes) FROM s WINDOWING 60 s
