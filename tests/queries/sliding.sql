-- A row for each event time of a group that is not closed yet; a tuple whose own row is closed counts in later ones.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING SLIDING 10 s WATERMARK 2 s IDLE OFF;
