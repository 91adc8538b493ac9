-- over: continuous
-- at: 1:57
-- title: LATE UPDATE does not go with EMIT CHANGES
-- hint: remove one of the two, or make a query for each
SELECT count(*) AS n FROM s WINDOWING 60 s EMIT CHANGES LATE UPDATE FOR 5 min
