-- over: stream
-- at: 1:63
-- title: STRICT is given twice
-- hint: remove one
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV (STRICT, STRICT) TIMESTAMP t
