-- over: seconds
-- at: 1:39
-- title: MAXAHEAD 1500 ms does not fit the unit of the event time
-- hint: write MAXAHEAD 1 s
SELECT count(*) FROM s WINDOWING 60 s WATERMARK 2 s MAXAHEAD 1500 ms
