-- over: statement
-- at: 1:11
-- title: there is no IF EXISTS here
-- hint: leave it out, and ignore that error: 409 or 404 over REST
DROP SINK IF EXISTS s
