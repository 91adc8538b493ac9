-- over: stream
-- at: 1:25
-- title: column A is declared twice
-- hint: rename one of them
CREATE STREAM x (a INT, A BIGINT, t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
