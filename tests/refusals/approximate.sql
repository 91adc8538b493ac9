-- over: continuous
-- at: 1:35
-- title: error of approx_count_distinct must be a constant from 0.005 to 0.26
-- hint: write approx_count_distinct(x)
SELECT approx_count_distinct(sip, 2) FROM s WINDOWING 60 s
