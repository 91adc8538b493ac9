-- Event time in ms; windows of less than a second.
-- partitions: 2
-- data: seed 13, tuples 700, disorder 1 s
CREATE STREAM {stream} (t BIGINT, k STRING)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t;
CREATE QUERY {query} AS
SELECT t, count(*) FROM {stream} GROUP BY t WINDOWING 250 ms WATERMARK 1500 ms IDLE OFF FROM EARLIEST;
