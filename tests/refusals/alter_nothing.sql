-- over: statement
-- at: 1:7
-- title: unexpected STREAM
-- hint: write ALTER QUERY q AS SELECT ..., ALTER SINK s REPLAY ..., or ALTER WORKERS SET MAPPERS n
ALTER STREAM s
