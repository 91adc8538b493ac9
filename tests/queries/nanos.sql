-- Event time in nanoseconds.
-- partitions: 2
-- data: seed 15, tuples 600, disorder 3 s
CREATE STREAM {stream} (k STRING, t BIGINT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT ns;
CREATE QUERY {query} AS
SELECT t, count(*), max(t) AS latest FROM {stream} GROUP BY t WINDOWING 90 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
