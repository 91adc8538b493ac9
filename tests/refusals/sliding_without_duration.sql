-- over: statement
-- at: 1:60
-- title: unexpected sip
-- hint: write SLIDING 60 s
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING SLIDING sip
