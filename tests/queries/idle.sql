-- Partitions without tuples are left out once they are idle; of those that are all idle the greatest counts.
-- partitions: 3
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 10 s WATERMARK 5 s IDLE 2 s;
