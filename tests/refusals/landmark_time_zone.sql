-- over: statement
-- at: 1:52
-- title: AT TIME ZONE is not supported yet
-- hint: leave it out: periods are aligned to the epoch in UTC
SELECT count(*) FROM s WINDOWING LANDMARK EACH DAY AT TIME ZONE 'Europe/Berlin' EVERY 1 h
