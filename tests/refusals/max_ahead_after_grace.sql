-- over: statement
-- at: 1:63
-- title: MAXAHEAD must follow WATERMARK
-- hint: write WATERMARK 0 s MAXAHEAD 2 s
SELECT count(*) FROM s WINDOWING 60 s WATERMARK 0 s GRACE 0 s MAXAHEAD 2 s
