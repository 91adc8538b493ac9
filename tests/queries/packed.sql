-- Many tuples in a message, in both kinds of line ends; quotes, blank lines, empty and null messages.
-- partitions: 2
CREATE STREAM {stream} (t BIGINT, k STRING, v INT) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*), sum(v), first(v), last(v) FROM {stream} GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF;
