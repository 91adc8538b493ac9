-- Keys of five types at once.
-- partitions: 2
-- data: seed 10, tuples 700, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT ok, day, d > 0 AS positive, i, f, count(*) FROM {stream}
GROUP BY ok, day, positive, i, f WINDOWING 5 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
