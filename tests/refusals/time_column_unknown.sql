-- over: stream
-- at: 1:67
-- title: unknown column tim
-- hint: did you mean time?
CREATE STREAM x (time BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP tim
