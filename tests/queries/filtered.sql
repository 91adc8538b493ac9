-- WHERE, HAVING, and NULL in both: neither true nor false passes.
-- partitions: 2
-- data: seed 7, tuples 900, disorder 4 s
CREATE STREAM {stream} (t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT)
FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS
SELECT k, t, count(*) AS n, sum(i) AS total FROM {stream}
WHERE (i > 0 OR ok) AND k <> 'a' AND k NOT LIKE '%"%' GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF
HAVING n > 2 AND total IS NOT NULL;
