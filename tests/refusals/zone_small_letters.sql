-- over: statement
-- at: 1:51
-- title: there is no time zone 'europe/berlin'
-- hint: did you mean Europe/Berlin?
SELECT count(*) FROM s WINDOWING 1 d AT TIME ZONE 'europe/berlin'
