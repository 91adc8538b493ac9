-- over: statement
-- at: 1:16
-- title: INTO is not supported yet
-- hint: leave it out and read the results: SELECT * FROM q
CREATE QUERY q INTO sink AS SELECT count(*) FROM s WINDOWING 60 s
