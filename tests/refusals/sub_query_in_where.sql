-- over: continuous
-- at: 1:30
-- title: IN takes a list of constants
-- hint: write x IN (1, 2, 3)
SELECT count(*) FROM s WHERE sip IN (SELECT sip FROM r) WINDOWING 60 s
