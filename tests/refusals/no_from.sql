-- over: statement
-- at: 1:8
-- title: FROM is missing
-- hint: write SELECT ... FROM stream
SELECT 1
