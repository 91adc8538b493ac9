-- over: continuous
-- at: 1:12
-- title: max is an aggregate and does not belong inside an aggregate
-- hint: write one aggregate of a plain expression
SELECT sum(max(bytes)) FROM s WINDOWING 60 s
