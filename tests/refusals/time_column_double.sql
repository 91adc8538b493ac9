-- over: stream
-- at: 1:64
-- title: DOUBLE is no event time
-- hint: declare t BIGINT
CREATE STREAM x (t DOUBLE) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
