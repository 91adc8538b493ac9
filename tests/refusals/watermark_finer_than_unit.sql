-- over: seconds
-- at: 1:39
-- title: WATERMARK 100 ms does not fit the unit of the event time
-- hint: write WATERMARK 1 s
SELECT count(*) FROM s WINDOWING 60 s WATERMARK 100 ms
