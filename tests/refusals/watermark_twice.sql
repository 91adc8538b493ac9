-- over: statement
-- at: 1:63
-- title: WATERMARK is given twice
-- hint: remove one WATERMARK
SELECT count(*) FROM s WINDOWING 60 s WATERMARK 1 s GRACE 2 s WATERMARK 3 s
