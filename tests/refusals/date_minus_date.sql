-- over: once
-- at: 1:8
-- title: two dates are not subtracted
-- hint: write datediff(end, start)
SELECT d - DATE '2026-01-01' FROM s
