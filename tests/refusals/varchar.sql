-- over: stream
-- at: 1:20
-- title: unknown type VARCHAR(20)
-- hint: write STRING
CREATE STREAM x (a VARCHAR(20), t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
