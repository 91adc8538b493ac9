-- over: continuous
-- at: 1:14
-- title: || before + needs parentheses
-- hint: write a || (b + c)
SELECT count(sip || type + bytes || sip) FROM s WINDOWING 60 s
