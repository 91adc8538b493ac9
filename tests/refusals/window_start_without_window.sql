-- over: once
-- at: 1:8
-- title: there is no window_start without a window
-- hint: add WINDOWING 60 s
SELECT window_start, count(*) FROM s GROUP BY sip
