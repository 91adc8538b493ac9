-- over: statement
-- at: 1:24
-- title: WINDOWING LANDMARK is not supported yet
-- hint: write WINDOWING 60 s: windows of one length side by side
SELECT count(*) FROM s WINDOWING LANDMARK EACH 1 d
