-- over: statement
-- at: 1:43
-- title: WHERE needs a condition
-- hint: write WHERE count > 10
CREATE SINK s FROM q INTO KAFKA TOPIC 'x' WHERE FROM LATEST
