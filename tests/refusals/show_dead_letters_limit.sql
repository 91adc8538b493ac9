-- over: statement
-- at: 1:32
-- title: unexpected 0
-- hint: write LIMIT 10
SHOW DEAD LETTERS FROM s LIMIT 0
