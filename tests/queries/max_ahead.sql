-- A query's own limit of the future: what is decades ahead counts, and moves the watermark to the time of its record.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT ms;
CREATE QUERY {query} AS
SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING 1 h WATERMARK 5 s IDLE OFF MAXAHEAD 36000 d;
