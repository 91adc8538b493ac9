-- DECIMAL: sum and mean get more digits, keys and comparisons are exact.
-- partitions: 2
-- data: seed 5, tuples 700, disorder 3 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT d > 0 AS positive, t, sum(d), avg(d), min(d), max(d), sum(d * 2) AS doubled, count(DISTINCT d) AS different
FROM {stream} GROUP BY d > 0, t WINDOWING 60 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
