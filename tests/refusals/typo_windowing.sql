-- over: statement
-- at: 1:42
-- title: unexpected WINDOING
-- hint: did you mean WINDOWING?
SELECT sip, count(*) FROM s GROUP BY sip WINDOING 60 s
