-- over: once
-- at: 1:39
-- title: LATE TO is only for CREATE QUERY
-- hint: remove it
SELECT count(*) FROM s WINDOWING 60 s LATE TO other
