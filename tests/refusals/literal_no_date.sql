-- over: statement
-- at: 1:34
-- title: '2026-02-29' is not a valid DATE
-- hint: write DATE '2026-01-31'
SELECT count(*) FROM s WHERE d > date '2026-02-29' WINDOWING 60 s
