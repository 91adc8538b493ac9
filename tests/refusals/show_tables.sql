-- over: statement
-- at: 1:6
-- title: unexpected TABLES
-- hint: write SHOW STREAMS, SHOW QUERIES, SHOW SINKS, SHOW CONNECTIONS or SHOW DEAD LETTERS FROM stream
SHOW TABLES
