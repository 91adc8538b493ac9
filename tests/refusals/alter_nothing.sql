-- over: statement
-- at: 1:7
-- title: expected QUERY or SINK, found STREAM
-- hint: write ALTER QUERY q AS SELECT ..., or ALTER SINK s REPLAY ...
ALTER STREAM s
