-- NULL, NaN and both zeros as keys: NULL and NaN group, -0 is 0.
-- partitions: 3
-- data: seed 9, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT x, t, count(*), count(x) AS values FROM {stream} GROUP BY x, t WINDOWING 5 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
