-- over: statement
-- at: 1:48
-- title: 1 h is no whole number of steps of 7 min
-- hint: write LANDMARK EACH 63 min EVERY 7 min
SELECT count(*) FROM s WINDOWING LANDMARK EACH 1 h EVERY 7 min
