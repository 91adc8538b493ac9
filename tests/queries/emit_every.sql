-- Rows of open windows, given out at each 20 s of event time, too: the newest of each window and key shows.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, count(*), max(t) FROM {stream} GROUP BY k WINDOWING 1 min EMIT EVERY 20 s WATERMARK 2 s IDLE OFF;
