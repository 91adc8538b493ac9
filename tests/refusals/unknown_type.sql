-- over: stream
-- at: 1:20
-- title: unknown type INTEGR
-- hint: did you mean INTEGER?
CREATE STREAM x (a INTEGR, t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
