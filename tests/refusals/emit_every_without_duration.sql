-- over: statement
-- at: 1:49
-- title: unexpected end of the statement
-- hint: write EMIT EVERY 60 s
SELECT count(*) FROM s WINDOWING 60 s EMIT EVERY 
