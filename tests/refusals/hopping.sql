-- over: statement
-- at: 1:39
-- title: WINDOWING ... EVERY is not supported yet
-- hint: write WINDOWING 60 s alone: windows of one length side by side
SELECT count(*) FROM s WINDOWING 60 s EVERY 10 s
