-- Days of Berlin, of which one has 23 hours and one has 25, in the order of their ends.
-- partitions: 1
CREATE STREAM {stream} (t TIMESTAMP, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 1 DAY AT TIME ZONE 'Europe/Berlin' WATERMARK 2 s IDLE OFF;
