-- over: statement
-- at: 1:15
-- title: unexpected CASCADE
-- hint: one statement at a time; remove the rest
DROP STREAM s CASCADE
