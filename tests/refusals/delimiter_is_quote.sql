-- over: stream
-- at: 1:55
-- title: DELIMITER and QUOTE are the same
-- hint: choose two characters
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV (DELIMITER ';', QUOTE ';') TIMESTAMP t
