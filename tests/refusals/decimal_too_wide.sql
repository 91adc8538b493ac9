-- over: stream
-- at: 1:20
-- title: unknown type DECIMAL(40, 2)
-- hint: write DECIMAL(38, 18)
CREATE STREAM x (a DECIMAL(40, 2), t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
