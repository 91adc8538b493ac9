-- over: stream
-- at: 1:53
-- title: unexpected end of the statement
-- hint: name the event-time column: TIMESTAMP column UNIT ms
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV
