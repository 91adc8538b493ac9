-- over: statement
-- at: 1:35
-- title: AT and the folder do not fit
-- hint: write INTO PARQUET 's3://bucket/results' AT connection, of which CREATE CONNECTION c TO S3 makes one
CREATE SINK s FROM q INTO PARQUET 's3://b/x' EVERY 60 s
