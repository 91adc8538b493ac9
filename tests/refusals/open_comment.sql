-- over: statement
-- at: 1:24
-- title: a quote or comment is not closed
-- hint: close it; a quote inside a text is written ''
SELECT count(*) FROM s /* WINDOWING 60 s
