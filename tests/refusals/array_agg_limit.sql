-- over: continuous
-- at: 1:23
-- title: n of array_agg must be a whole constant from 1 to 1,000
-- hint: write array_agg(x, 100)
SELECT array_agg(sip, type) FROM s WINDOWING 60 s
