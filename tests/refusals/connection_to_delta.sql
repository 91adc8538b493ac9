-- over: statement
-- at: 1:25
-- title: a connection to DELTA is not supported yet
-- hint: connections go to POSTGRES, KAFKA, ICEBERG, S3 or HTTP
CREATE CONNECTION wh TO DELTA (BUCKET 'b')
