-- over: continuous
-- at: 1:30
-- title: 'tcp' does not read as INT
-- hint: write a constant of type INT
SELECT count(*) FROM s WHERE type = 'tcp' WINDOWING 60 s
