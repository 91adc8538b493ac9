-- over: statement
-- at: 1:36
-- title: double quotes are not used here
-- hint: write '10.0.0.1' for text, `10.0.0.1` for a name
SELECT count(*) FROM s WHERE sip = "10.0.0.1" WINDOWING 60 s
