-- over: stream
-- at: 1:50
-- title: unexpected AVRO
-- hint: write CSV or JSON
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT AVRO TIMESTAMP t
