-- over: continuous
-- at: 1:70
-- title: LATE UPDATE does not go with EMIT FINAL TIMEOUT
-- hint: remove one of the two, or write GRACE 1 h EMIT FINAL TIMEOUT 5 min
SELECT count(*) AS n FROM s WINDOWING 60 s EMIT FINAL TIMEOUT 5 min  LATE UPDATE FOR 1 h
