-- over: statement
-- at: 1:58
-- title: a duration: a whole number above 0 and a unit
-- hint: write EMIT FINAL TIMEOUT 60 s
SELECT count(*) FROM s WINDOWING 60 s EMIT FINAL TIMEOUT FROM EARLIEST
