-- over: seconds
-- at: 1:37
-- title: WINDOWING 1500 ms does not fit the unit of the event time
-- hint: write WINDOWING 1 s
SELECT count(*) FROM s GROUP BY sip WINDOWING SESSION GAP 5 s MAX 1500 ms
