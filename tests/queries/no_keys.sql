-- One row per window, without GROUP BY; started at the end of an empty topic.
-- partitions: 2
-- data: seed 12, tuples 700, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT count(*), sum(i), min(k), max(k) FROM {stream} WINDOWING 20 s WATERMARK 5 s IDLE OFF;
