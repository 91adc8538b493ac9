-- As much disorder as WATERMARK and GRACE allow together: nothing is late.
-- partitions: 3
-- data: seed 19, tuples 1500, disorder 9 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*), sum(i) FROM {stream} GROUP BY k, t WINDOWING 10 s WATERMARK 4 s IDLE OFF GRACE 5 s FROM EARLIEST;
