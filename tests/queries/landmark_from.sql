-- From one instant to now, every 30 s; what is before it is filtered.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING, v INT) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT ms;
CREATE QUERY {query} AS
SELECT k, t, count(*), avg(v) FROM {stream} GROUP BY k, t
WINDOWING LANDMARK FROM '2023-11-14T22:13:05Z' EVERY 30 s WATERMARK 2 s IDLE OFF;
