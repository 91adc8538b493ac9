-- over: statement
-- at: 1:12
-- title: unexpected FORM
-- hint: did you mean FROM?
SELECT sip FORM s
