-- Sum, mean, least and greatest of INT and BIGINT; sums of BIGINT wrap.
-- partitions: 2
-- data: seed 2, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT t, sum(i), sum(b) AS wide, avg(i), avg(b) AS mean, min(i), max(i), min(b) AS least, max(b) AS greatest
FROM {stream} GROUP BY t WINDOWING 30 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
