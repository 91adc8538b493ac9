-- over: statement
-- at: 1:17
-- title: a SELECT reads one stream by its name
-- hint: write FROM stream
SELECT count(*) FROM (SELECT sip FROM s) WINDOWING 60 s
