-- STRICT: a tuple is bad also for columns that nobody names.
-- partitions: 2
-- data: seed 20, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV (STRICT, DELIMITER ';', QUOTE '`', NULL '-') TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 2 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
