-- over: statement
-- at: 1:42
-- title: SLIDING without WINDOWING
-- hint: write WINDOWING 60 s, WINDOWING 60 s EVERY 10 s, LANDMARK EACH DAY EVERY 1 min, or SESSION GAP 5 min
SELECT sip, count(*) FROM s GROUP BY sip SLIDING 5s
