-- A tuple at a session's end belongs to it; one that touches a closed session is late, and one whose own would be closed.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING SESSION GAP 10 s WATERMARK 2 s IDLE OFF;
