-- over: continuous
-- at: 1:38
-- title: each window would have 604,800,000 panes
-- hint: write EMIT EVERY 60480 ms
SELECT count(*) FROM s WINDOWING 7 d EMIT EVERY 1 ms
