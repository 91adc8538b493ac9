-- over: continuous
-- at: 1:52
-- title: the column timed_out is there twice
-- hint: give yours another name with AS
SELECT count(*) AS timed_out FROM s WINDOWING 60 s EMIT FINAL TIMEOUT 5 min
