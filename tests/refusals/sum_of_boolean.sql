-- over: continuous
-- at: 1:8
-- title: sum does not take BOOLEAN
-- hint: write if(..., 1, 0)
SELECT sum(ok) FROM s WINDOWING 60 s
