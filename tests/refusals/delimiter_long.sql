-- over: stream
-- at: 1:65
-- title: DELIMITER must be one character
-- hint: write DELIMITER ','
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV (DELIMITER '::') TIMESTAMP t
