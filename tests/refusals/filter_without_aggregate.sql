-- over: continuous
-- at: 1:8
-- title: FILTER, DISTINCT and IGNORE NULLS need an aggregate
-- hint: write count(DISTINCT x), sum(x) FILTER (WHERE ...), first(x) IGNORE NULLS
SELECT upper(sip) FILTER (WHERE ok) FROM s GROUP BY sip WINDOWING 60 s
