-- over: stream
-- at: 1:56
-- title: STRICT is not an option of JSON
-- hint: remove it
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT JSON (STRICT) TIMESTAMP t
