-- over: stream
-- at: 1:64
-- title: DOUBLE cannot be an event time
-- hint: declare t BIGINT
CREATE STREAM x (t DOUBLE) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
