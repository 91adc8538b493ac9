-- over: statement
-- at: 1:18
-- title: unexpected end of the statement
-- hint: write SHOW DEAD LETTERS FROM stream LIMIT 10
SHOW DEAD LETTERS
