-- over: stream
-- at: 1:39
-- title: unexpected x
-- hint: write 'x'
CREATE STREAM x (t BIGINT) FROM KAFKA x FORMAT CSV TIMESTAMP t
