-- over: continuous
-- at: 1:30
-- title: unexpected FILTER
-- hint: write first(x) FILTER (WHERE ...) IGNORE NULLS
SELECT first(t) IGNORE NULLS FILTER (WHERE ok) FROM s WINDOWING 60 s
