-- over: statement
-- at: 1:6
-- title: unexpected TABLES
-- hint: write SHOW STREAMS, SHOW QUERIES, SHOW SINKS, SHOW CONNECTIONS, SHOW DEAD LETTERS FROM stream or SHOW LATE FROM name
SHOW TABLES
