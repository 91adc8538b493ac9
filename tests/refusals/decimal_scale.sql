-- over: stream
-- at: 1:20
-- title: DECIMAL(4, 6) is not a type
-- hint: write DECIMAL(6, 6)
CREATE STREAM x (a DECIMAL(4, 6), t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
