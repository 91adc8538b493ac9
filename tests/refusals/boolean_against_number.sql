-- over: continuous
-- at: 1:30
-- title: a = b does not take BOOLEAN, INT
-- hint: cast one of them
SELECT count(*) FROM s WHERE ok = 1 WINDOWING 60 s
