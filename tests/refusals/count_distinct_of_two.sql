-- over: continuous
-- at: 1:8
-- title: count takes one argument
-- hint: write count(DISTINCT concat(a, '|', b))
SELECT count(DISTINCT sip, type) FROM s WINDOWING 60 s
