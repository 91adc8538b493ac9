-- over: statement
-- at: 1:1
-- title: ALTER QUERY is not supported yet
-- hint: DROP QUERY, then CREATE QUERY again
ALTER QUERY q AS SELECT count(*) FROM s WINDOWING 60 s
