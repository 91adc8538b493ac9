-- over: statement
-- at: 1:42
-- title: SESSION without WINDOWING
-- hint: write WINDOWING 60 s: windows of one length side by side
SELECT sip, count(*) FROM s GROUP BY sip SESSION GAP 5 s
