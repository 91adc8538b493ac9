-- over: statement
-- at: 1:66
-- title: MAXAHEAD is given twice
-- hint: remove one MAXAHEAD
SELECT count(*) FROM s WINDOWING 60 s WATERMARK 0 s MAXAHEAD 2 s MAXAHEAD 3 s
