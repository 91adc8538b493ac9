-- over: continuous
-- at: 1:8
-- title: unknown function approx_count_distinct
-- hint: write count(DISTINCT x), which is exact
SELECT approx_count_distinct(sip) FROM s WINDOWING 60 s
