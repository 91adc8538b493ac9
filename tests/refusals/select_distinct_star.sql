-- over: once
-- at: 1:17
-- title: SELECT DISTINCT takes columns by their names
-- hint: name the columns
SELECT DISTINCT * FROM s
