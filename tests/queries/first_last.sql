-- First and last by event time; ties by partition, offset and line.
-- partitions: 3
-- data: seed 6, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, first(i), last(i), first(k) AS one, last(x) AS x, last(day) FILTER (WHERE ok) AS day
FROM {stream} GROUP BY k, t WINDOWING 100 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
