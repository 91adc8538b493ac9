-- over: statement
-- at: 1:8
-- title: TIME cannot come before a text
-- hint: write TIMESTAMP '2026-01-31 12:00:00'
SELECT TIME '12:00' FROM s
