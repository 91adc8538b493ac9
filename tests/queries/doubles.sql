-- DOUBLE and FLOAT with NaN, the infinities and both zeros.
-- partitions: 2
-- data: seed 3, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT ok, t, sum(f), avg(f), min(x), max(x), min(f) AS fmin, max(f) AS fmax, count(DISTINCT x) AS different,
       sum(x) FILTER (WHERE x > -1000 AND x < 1000) AS finite
FROM {stream} GROUP BY ok, t WINDOWING 2 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
