-- From the start of each minute to now, every 20 s: also in the rows of steps in which nothing came.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING, v INT) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, count(*), sum(v), min(v) FROM {stream} GROUP BY k WINDOWING LANDMARK EACH 1 min EVERY 20 s WATERMARK 2 s IDLE OFF;
