-- over: once
-- at: 1:8
-- title: a + b does not take DATE, DECIMAL(2,1)
-- hint: write date_add(d, days) or datediff(end, start)
SELECT d + 1.5 FROM s
