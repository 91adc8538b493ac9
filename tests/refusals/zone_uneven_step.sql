-- over: statement
-- at: 1:67
-- title: with AT TIME ZONE, EVERY takes whole days
-- hint: write EVERY 1 d, or leave it out
SELECT count(*) FROM s WINDOWING 7 d AT TIME ZONE 'Europe/Berlin' EVERY 6 h
