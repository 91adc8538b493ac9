-- Event time as ISO 8601 text, which the window's start comes back as.
-- partitions: 2
-- data: seed 16, tuples 600, disorder 3 s
CREATE STREAM {stream} (k STRING, t STRING)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t;
CREATE QUERY {query} AS
SELECT t, count(*), last(k) FROM {stream} GROUP BY t WINDOWING 1 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
