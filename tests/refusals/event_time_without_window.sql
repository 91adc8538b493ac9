-- over: once
-- at: 1:44
-- title: timestamp in GROUP BY means the window's start
-- hint: add WINDOWING 60 s
SELECT timestamp, count(*) FROM s GROUP BY timestamp
