-- over: stream
-- at: 1:18
-- title: window_start is reserved
-- hint: rename it
CREATE STREAM x (window_start INT, t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
