-- JSON: one object, an array of objects, one object a line; what is no object does not read.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING, v DOUBLE, raw STRING PATH 'o') FROM KAFKA '{topic}' FORMAT JSON TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*), sum(v), max(raw) FROM {stream} GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF;
