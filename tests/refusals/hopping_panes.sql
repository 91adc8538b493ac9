-- over: continuous
-- at: 1:24
-- title: each window would have 86,400 panes
-- hint: write EVERY 8640 ms
SELECT count(*) FROM s WINDOWING 1 d EVERY 7 s
