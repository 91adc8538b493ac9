-- over: continuous
-- at: 1:12
-- title: round(a[, digits]) does not take DOUBLE, INT
-- hint: write round(x, 2)
SELECT sum(round(ratio, type)) FROM s WINDOWING 60 s
