-- over: statement
-- at: 1:42
-- title: SLIDING without WINDOWING
-- hint: write WINDOWING 60 s: windows of one length side by side
SELECT sip, count(*) FROM s GROUP BY sip SLIDING 5s
