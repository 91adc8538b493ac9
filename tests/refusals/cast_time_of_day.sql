-- over: once
-- at: 1:13
-- title: unknown type TIME
-- hint: did you mean TIMESTAMP?
SELECT cast(t AS TIME) FROM s
