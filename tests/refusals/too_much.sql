-- over: statement
-- at: 1:15
-- title: unexpected CASCADE
-- hint: one statement at a time; remove what is too much
DROP STREAM s CASCADE
