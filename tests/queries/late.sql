-- A tuple is late once its window is closed: dropped and counted. One within GRACE still counts.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 10 s WATERMARK 2 s IDLE OFF GRACE 3 s;
