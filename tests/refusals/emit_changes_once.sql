-- over: once
-- at: 1:44
-- title: EMIT CHANGES is only for CREATE QUERY
-- hint: remove EMIT CHANGES
SELECT count(*) AS n FROM s WINDOWING 60 s EMIT CHANGES
