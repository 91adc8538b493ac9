-- over: continuous
-- at: 1:30
-- title: 'yesterday' is not a valid TIMESTAMP
-- hint: write a constant of type TIMESTAMP
SELECT count(*) FROM s WHERE t > 'yesterday' WINDOWING 60 s
