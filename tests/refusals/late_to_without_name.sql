-- over: statement
-- at: 1:46
-- title: unexpected end of the statement
-- hint: put a name with other characters in backticks: `a b`
SELECT count(*) FROM s WINDOWING 60 s LATE TO
