-- over: statement
-- at: 1:58
-- title: unexpected FROM
-- hint: write EMIT FINAL TIMEOUT 60 s
SELECT count(*) FROM s WINDOWING 60 s EMIT FINAL TIMEOUT FROM EARLIEST
