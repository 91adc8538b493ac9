-- over: statement
-- at: 1:13
-- title: unexpected FROM
-- hint: put a name with other characters in `backticks`
SELECT (sip FROM s
