-- over: statement
-- at: 1:50
-- title: AT TIME ZONE must follow whole days
-- hint: write WINDOWING 1 d AT TIME ZONE 'Europe/Berlin', or LANDMARK EACH DAY AT TIME ZONE ...
SELECT count(*) FROM s WINDOWING SESSION GAP 1 d AT TIME ZONE 'Europe/Berlin'
