-- over: statement
-- at: 1:1
-- title: ALTER QUERY is not supported yet
-- hint: DROP QUERY it and CREATE QUERY it again
ALTER QUERY q AS SELECT count(*) FROM s WINDOWING 60 s
