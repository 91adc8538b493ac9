-- over: statement
-- at: 1:15
-- title: there is no IF NOT EXISTS here
-- hint: leave it out, and ignore that error: 409 or 404 over REST
CREATE STREAM IF NOT EXISTS s (a INT, t BIGINT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t
