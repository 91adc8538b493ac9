-- over: statement
-- at: 1:35
-- title: '2026-02-30 00:00:00' is not a valid TIMESTAMP
-- hint: write TIMESTAMP '2026-01-31 12:00:00'
SELECT count(*) FROM s WHERE t >= TIMESTAMP '2026-02-30 00:00:00' WINDOWING 60 s
