-- Counts: of tuples, of values, of different values, of those that pass a FILTER.
-- partitions: 3
-- data: seed 1, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*), count(i) AS ints, count(DISTINCT i) AS different, count(*) FILTER (WHERE ok) AS passed,
       count(DISTINCT k) FILTER (WHERE i > 0) AS texts
FROM {stream} GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
