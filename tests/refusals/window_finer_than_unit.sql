-- over: seconds
-- at: 1:24
-- title: WINDOWING 500 ms does not fit the unit of the event time
-- hint: write WINDOWING 1 s
SELECT count(*) FROM s WINDOWING 500 ms
