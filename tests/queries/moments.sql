-- Variance and standard deviation, of samples and populations.
-- partitions: 3
-- data: seed 4, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, variance(i % 100), var_pop(f), stddev(f), stddev_pop(d), var_samp(x) FILTER (WHERE x < 100) AS low
FROM {stream} GROUP BY k, t WINDOWING 5 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
