-- over: once
-- at: 1:39
-- title: EMIT EVERY is only for CREATE QUERY
-- hint: remove it
SELECT count(*) FROM s WINDOWING 60 s EMIT EVERY 5 s
