-- over: statement
-- at: 1:6
-- title: unexpected TABLES
-- hint: write SHOW STREAMS or SHOW QUERIES
SHOW TABLES
