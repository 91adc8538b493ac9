-- over: continuous
-- at: 1:8
-- title: low of histogram must be below high
-- hint: write histogram(x, 0, 100, 10)
SELECT histogram(bytes, 10, 10, 5) FROM s WINDOWING 60 s
