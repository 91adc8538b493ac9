-- over: statement
-- at: 1:29
-- title: unexpected GRUOP
-- hint: did you mean GROUP?
SELECT sip, count(*) FROM s GRUOP BY sip WINDOWING 60 s
