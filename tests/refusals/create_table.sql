-- over: statement
-- at: 1:8
-- title: there is no CREATE TABLE
-- hint: CREATE STREAM names a topic, CREATE QUERY starts a continuous query
CREATE TABLE s (a INT)
