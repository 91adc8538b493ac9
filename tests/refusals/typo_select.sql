-- over: statement
-- at: 1:1
-- title: no statement begins with SELCT
-- hint: did you mean SELECT?
SELCT count(*) FROM s
