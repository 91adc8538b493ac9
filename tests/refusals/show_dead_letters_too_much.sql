-- over: statement
-- at: 1:26
-- title: unexpected ORDER BY
-- hint: one statement at a time; remove the rest
SHOW DEAD LETTERS FROM s ORDER BY line
