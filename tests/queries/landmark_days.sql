-- From midnight in Berlin to now, each six hours: the day of 23 hours ends an hour after its last whole step.
-- partitions: 1
CREATE STREAM {stream} (t TIMESTAMP, v INT) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t;
CREATE QUERY {query} AS
SELECT count(*), sum(v) FROM {stream} WINDOWING LANDMARK EACH DAY AT TIME ZONE 'Europe/Berlin' EVERY 6 h WATERMARK 2 s IDLE OFF;
