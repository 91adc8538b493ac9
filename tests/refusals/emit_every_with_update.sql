-- over: continuous
-- at: 1:39
-- title: LATE UPDATE does not go with EMIT EVERY
-- hint: remove one of the two, or make a query for each
SELECT count(*) FROM s WINDOWING 60 s LATE UPDATE FOR 1 h EMIT EVERY 5 s
