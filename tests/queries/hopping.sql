-- A tuple is in each window that holds it; one is late only if all of these are closed, else it counts in those that are open.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 10 s EVERY 4 s OFFSET 1 s WATERMARK 2 s IDLE OFF;
