-- over: statement
-- at: 1:15
-- title: ALTER QUERY takes no INTO
-- hint: leave it out, and CREATE SINK
ALTER QUERY q INTO x AS SELECT count(*) FROM s WINDOWING 60 s
