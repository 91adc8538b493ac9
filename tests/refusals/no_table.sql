-- over: statement
-- at: 1:14
-- title: unexpected end of the statement
-- hint: a name with other characters stands in `backticks`
SELECT * FROM
