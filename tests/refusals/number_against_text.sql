-- over: continuous
-- at: 1:30
-- title: 'tcp' is not a valid INT
-- hint: write a constant of type INT
SELECT count(*) FROM s WHERE type = 'tcp' WINDOWING 60 s
