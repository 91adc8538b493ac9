-- over: statement
-- at: 1:52
-- title: TIMEOUT goes with EMIT FINAL alone
-- hint: write EMIT FINAL TIMEOUT 5 min
SELECT count(*) FROM s WINDOWING 60 s EMIT CHANGES TIMEOUT 5 min
