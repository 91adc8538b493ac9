-- over: statement
-- at: 1:12
-- title: a SELECT reads one stream by its name
-- hint: write FROM stream
SELECT sip FROM range(5)
