-- over: statement
-- at: 1:24
-- title: WINDOWING COUNT is not supported yet
-- hint: write WINDOWING 60 s: windows of one length side by side
SELECT count(*) FROM s WINDOWING COUNT 100
