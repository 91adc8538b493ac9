-- over: continuous
-- at: 1:8
-- title: collect_list does not take 1 argument
-- hint: write array_agg(x, 100)
SELECT collect_list(sip) FROM s WINDOWING 60 s
