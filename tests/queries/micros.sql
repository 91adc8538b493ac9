-- Event time in microseconds.
-- partitions: 2
-- data: seed 14, tuples 600, disorder 3 s
CREATE STREAM {stream} (k STRING, t BIGINT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT us;
CREATE QUERY {query} AS
SELECT t, k, count(*) FROM {stream} GROUP BY t, k WINDOWING 60 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
