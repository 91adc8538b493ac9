-- A session is cut where its longest time ends; what follows begins a new one, also for tuples that come out of order.
-- partitions: 1
CREATE STREAM {stream} (t BIGINT, k STRING) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP t UNIT s;
CREATE QUERY {query} AS SELECT k, t, count(*) FROM {stream} GROUP BY k, t WINDOWING SESSION GAP 10 s MAX 25 s WATERMARK 2 s IDLE OFF;
