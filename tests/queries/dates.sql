-- DATE and TIMESTAMP values: as keys, least and greatest, their parts.
-- partitions: 2
-- data: seed 11, tuples 700, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT day, year(day) AS y, hour(at) AS h, min(at), max(at), min(day) AS first_day, count(DISTINCT to_date(at)) AS days
FROM {stream} GROUP BY day, hour(at) WINDOWING 5 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
