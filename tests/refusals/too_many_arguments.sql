-- over: continuous
-- at: 1:33
-- title: upper does not take 2 arguments
-- hint: write upper(s)
SELECT count(*) FROM s GROUP BY upper(sip, sip) WINDOWING 60 s
