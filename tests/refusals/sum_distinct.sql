-- over: continuous
-- at: 1:8
-- title: DISTINCT does not work with sum
-- hint: write count(DISTINCT x)
SELECT sum(DISTINCT bytes) FROM s WINDOWING 60 s
