-- over: statement
-- at: 1:13
-- title: unexpected FROM
-- hint: a name with other characters stands in `backticks`
SELECT (sip FROM s
