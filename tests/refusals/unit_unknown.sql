-- over: stream
-- at: 1:71
-- title: unexpected minutes
-- hint: write S or MS or US or NS
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t UNIT minutes
