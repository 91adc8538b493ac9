-- over: statement
-- at: 1:10
-- title: unexpected FROM
-- hint: put a name with other characters in `backticks`
SELECT * FROM
