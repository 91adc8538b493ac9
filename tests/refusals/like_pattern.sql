-- over: continuous
-- at: 1:30
-- title: a LIKE 'p%' does not take STRING, INT
-- hint: write it in single quotes
SELECT count(*) FROM s WHERE sip LIKE type WINDOWING 60 s
