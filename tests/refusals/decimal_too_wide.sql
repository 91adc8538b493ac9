-- over: stream
-- at: 1:20
-- title: DECIMAL(40, 2) is not a type
-- hint: write DECIMAL(38, 2)
CREATE STREAM x (a DECIMAL(40, 2), t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
