-- over: statement
-- at: 1:54
-- title: this is no size from 1 to 1024 MB
-- hint: write INTO PARQUET '/data/results' EVERY 60 s OR 128 MB
CREATE SINK s FROM q INTO PARQUET '/x' EVERY 60 s OR 0 MB
