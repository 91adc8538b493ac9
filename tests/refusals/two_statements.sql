-- over: statement
-- at: 1:15
-- title: unexpected SHOW
-- hint: one statement at a time; remove the rest
SHOW STREAMS; SHOW QUERIES
