-- over: statement
-- at: 1:26
-- title: unexpected ORDER BY
-- hint: one statement at a time; remove what is too much
SHOW DEAD LETTERS FROM s ORDER BY line
