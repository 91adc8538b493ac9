-- over: statement
-- at: 1:39
-- title: EMIT FINAL TIMEOUT is not supported yet
-- hint: write EMIT FINAL; the last windows close with the next tuple, and partial=true shows them before
SELECT count(*) FROM s WINDOWING 60 s EMIT FINAL TIMEOUT 5 min
