-- over: statement
-- at: 1:10
-- title: there is no IF EXISTS here
-- hint: leave it out, and ignore that error: 409 or 404 over REST
DESCRIBE IF EXISTS q
