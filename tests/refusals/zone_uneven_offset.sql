-- over: statement
-- at: 1:67
-- title: with AT TIME ZONE, OFFSET takes whole days
-- hint: write OFFSET 1 d, or leave it out
SELECT count(*) FROM s WINDOWING 7 d AT TIME ZONE 'Europe/Berlin' OFFSET 6 h
