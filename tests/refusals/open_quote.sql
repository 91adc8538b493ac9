-- over: statement
-- at: 1:36
-- title: a quote or comment is not closed
-- hint: close it; a quote inside a text is written ''
SELECT count(*) FROM s WHERE sip = '10.0.0.1 WINDOWING 60 s
