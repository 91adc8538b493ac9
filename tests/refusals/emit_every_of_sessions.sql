-- over: continuous
-- at: 1:54
-- title: EMIT EVERY goes with WINDOWING d alone, so far
-- hint: write WINDOWING 1 h EMIT EVERY 5 s; or LANDMARK EACH d EVERY s, which gives a window so far each s
SELECT count(*) FROM s WINDOWING SESSION GAP 60 s    EMIT EVERY 5 s
