-- over: stream
-- at: 1:29
-- title: PATH is for JSON
-- hint: remove PATH
CREATE STREAM x (a INT PATH 'b.c', t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
