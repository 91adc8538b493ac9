-- over: continuous
-- at: 1:8
-- title: min_by does not take 1 argument
-- hint: write min_by(x, y)
SELECT min_by(bytes) FROM s WINDOWING 60 s
