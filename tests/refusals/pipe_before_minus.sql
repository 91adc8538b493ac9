-- over: once
-- at: 1:8
-- title: || before - needs parentheses
-- hint: write a || (b - c)
SELECT type || bytes - 1 FROM s
