-- over: once
-- at: 1:8
-- title: sum takes one argument
-- hint: write sum(DISTINCT x)
SELECT sum(DISTINCT bytes, type) FROM s
