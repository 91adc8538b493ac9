-- over: statement
-- at: 1:44
-- title: unexpected SOMETIMES
-- hint: write EMIT FINAL or EMIT CHANGES
SELECT count(*) FROM s WINDOWING 60 s EMIT SOMETIMES
