-- over: stream
-- at: 1:65
-- title: DELIMITER is one character
-- hint: write DELIMITER ','
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV (DELIMITER '::') TIMESTAMP t
