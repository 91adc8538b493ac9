-- over: once
-- at: 1:13
-- title: a cast takes only a type
-- hint: write cast(x AS type)
SELECT cast(t AS STRING FORMAT 'yyyy') FROM s
