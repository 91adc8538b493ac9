-- over: statement
-- at: 1:39
-- title: EMIT CHANGES is not supported yet
-- hint: write EMIT FINAL; open windows are read with partial=true
SELECT count(*) FROM s WINDOWING 60 s EMIT CHANGES
