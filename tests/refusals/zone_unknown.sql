-- over: statement
-- at: 1:51
-- title: there is no time zone 'Europe/Berln'
-- hint: did you mean Europe/Berlin?
SELECT count(*) FROM s WINDOWING 1 d AT TIME ZONE 'Europe/Berln'
