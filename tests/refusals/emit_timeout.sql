-- over: once
-- at: 1:39
-- title: EMIT FINAL TIMEOUT is only for CREATE QUERY
-- hint: remove it
SELECT count(*) FROM s WINDOWING 60 s EMIT FINAL TIMEOUT 5 min
