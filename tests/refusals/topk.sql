-- over: continuous
-- at: 1:8
-- title: unknown function topk
-- hint: write top_k(x, 10)
SELECT topk(sip, 10) FROM s WINDOWING 60 s
