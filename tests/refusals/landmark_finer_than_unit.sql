-- over: seconds
-- at: 1:24
-- title: the landmark does not fit the unit of the event time
-- hint: leave out what is finer
SELECT count(*) FROM s WINDOWING LANDMARK FROM '2026-01-31T00:00:00.5' EVERY 1 min
