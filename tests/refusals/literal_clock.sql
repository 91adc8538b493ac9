-- over: statement
-- at: 1:34
-- title: 'today' is not a valid DATE
-- hint: write DATE '2026-01-31'
SELECT count(*) FROM s WHERE d > DATE 'today' WINDOWING 60 s
