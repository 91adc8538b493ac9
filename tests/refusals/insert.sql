-- over: statement
-- at: 1:1
-- title: no statement begins with INSERT
-- hint: tuples come from Kafka: produce to the stream's topic
INSERT INTO s VALUES (1)
