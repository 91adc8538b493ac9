-- over: statement
-- at: 1:38
-- title: AT TIME ZONE needs windows of whole days
-- hint: leave it out, or write WINDOWING 1 d AT TIME ZONE or LANDMARK EACH DAY AT TIME ZONE
SELECT count(*) FROM s WINDOWING 6 h AT TIME ZONE 'Europe/Berlin'
