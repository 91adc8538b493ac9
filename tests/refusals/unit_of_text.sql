-- over: stream
-- at: 1:71
-- title: UNIT does not go with STRING
-- hint: remove UNIT, or declare the column BIGINT
CREATE STREAM x (t STRING) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t UNIT ms
