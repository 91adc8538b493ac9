-- over: statement
-- at: 1:19
-- title: unexpected STREAM
-- hint: only a query can be replaced: write CREATE OR REPLACE QUERY q AS SELECT ...
CREATE OR REPLACE STREAM s (a INT, t BIGINT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t
