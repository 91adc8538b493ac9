-- over: stream
-- at: 1:24
-- title: unexpected b
-- hint: columns are separated by commas: (a INT, b STRING)
CREATE STREAM x (a INT b INT, t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t
