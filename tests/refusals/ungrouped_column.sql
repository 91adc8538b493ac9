-- over: continuous
-- at: 1:13
-- title: column type is not grouped
-- hint: add type to GROUP BY, or aggregate it: first(type), max(type)
SELECT sip, type, count(*) FROM s GROUP BY sip WINDOWING 60 s
