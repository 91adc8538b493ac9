-- JSON with nested paths, missing keys and numbers that do not read.
-- partitions: 3
-- data: seed 18, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING PATH 'who.name', i INT, b BIGINT PATH 'n.b', x DOUBLE PATH 'n.x',
  d DECIMAL(10, 2), city STRING PATH 'who.at.city')
FROM KAFKA '{topic}' FORMAT JSON TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*), sum(i), avg(x), min(city), count(DISTINCT b) AS different, sum(d) AS money
FROM {stream} GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF FROM EARLIEST;
