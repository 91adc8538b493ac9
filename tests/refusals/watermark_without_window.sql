-- over: once
-- at: 1:42
-- title: WATERMARK needs a window
-- hint: add WINDOWING 60 s, or remove it
SELECT sip, count(*) FROM s GROUP BY sip WATERMARK 5 s
