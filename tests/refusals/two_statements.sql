-- over: statement
-- at: 1:15
-- title: unexpected SHOW
-- hint: one statement at a time; remove what is too much
SHOW STREAMS; SHOW QUERIES
