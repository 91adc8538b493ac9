-- over: statement
-- at: 1:7
-- title: unexpected STREAM
-- hint: write ALTER QUERY q AS SELECT ..., or ALTER SINK s REPLAY ...
ALTER STREAM s
