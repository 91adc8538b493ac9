-- over: once
-- at: 1:29
-- title: a time has no part century
-- hint: write year, quarter, month, week, day, dow, doy, hour, minute, second
SELECT extract(century FROM t) FROM s
