-- over: once
-- at: 1:8
-- title: & beside | needs parentheses
-- hint: write one of them in parentheses
SELECT type & 1 | 2 FROM s
