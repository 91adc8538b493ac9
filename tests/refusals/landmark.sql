-- over: statement
-- at: 1:51
-- title: unexpected end of the statement
-- hint: write WINDOWING LANDMARK EACH DAY EVERY 1 min, or LANDMARK FROM '2026-01-31' EVERY 1 min
SELECT count(*) FROM s WINDOWING LANDMARK EACH 1 d
