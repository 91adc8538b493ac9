-- Event time as TIMESTAMP.
-- partitions: 2
-- data: seed 17, tuples 600, disorder 3 s
CREATE STREAM {stream} (k STRING, t TIMESTAMP)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t;
CREATE QUERY {query} AS
SELECT t, k, count(*) FROM {stream} GROUP BY t, k WINDOWING 5 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
