-- over: stream
-- at: 1:75
-- title: NULL '\N' is read as N
-- hint: write NULL '\\N'
CREATE STREAM x (t BIGINT) FROM KAFKA 'x' FORMAT CSV (DELIMITER ';', NULL '\N') TIMESTAMP t
