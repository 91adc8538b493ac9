-- over: statement
-- at: 1:44
-- title: unexpected SOMETIMES
-- hint: write EMIT FINAL, EMIT CHANGES or EMIT EVERY d
SELECT count(*) FROM s WINDOWING 60 s EMIT SOMETIMES
