-- over: continuous
-- at: 1:38
-- title: a continuous query needs a window
-- hint: add WINDOWING 60 s at the end
SELECT sip, count(*) FROM s GROUP BY sip
