-- over: statement
-- at: 1:54
-- title: KEY stands twice
-- hint: remove one KEY
CREATE SINK s FROM q INTO KAFKA TOPIC 'x' KEY (page) KEY (n)
