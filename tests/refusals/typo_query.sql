-- over: statement
-- at: 1:8
-- title: unexpected QUER
-- hint: did you mean QUERY?
CREATE QUER q AS SELECT count(*) FROM s
