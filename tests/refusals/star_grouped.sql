-- over: continuous
-- at: 1:8
-- title: * is not grouped
-- hint: name the columns of GROUP BY, and aggregates such as count(*)
SELECT * FROM s WINDOWING 60 s
