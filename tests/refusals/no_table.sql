-- over: statement
-- at: 1:10
-- title: unexpected FROM
-- hint: a name with other characters stands in `backticks`
SELECT * FROM
