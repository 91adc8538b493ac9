-- over: statement
-- at: 1:39
-- title: IDLE must follow WATERMARK
-- hint: write WATERMARK 5 s IDLE OFF
SELECT count(*) FROM s WINDOWING 60 s IDLE OFF
