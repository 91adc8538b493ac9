-- Expressions as keys and as arguments.
-- partitions: 2
-- data: seed 8, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT upper(k) AS name, i % 3 AS rest, CASE WHEN x > 0 THEN 'plus' WHEN x <= 0 THEN 'minus' ELSE 'none' END AS side,
       sum(i + b) AS total, max(length(k)) AS longest, avg(coalesce(x, 0)) AS mean
FROM {stream} WHERE x IS NULL OR x BETWEEN -5000 AND 5000
GROUP BY upper(k), i % 3, side WINDOWING 2 min WATERMARK 5 s IDLE OFF FROM EARLIEST;
