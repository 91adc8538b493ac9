-- over: once
-- at: 1:13
-- title: a cast takes a type alone
-- hint: write cast(x AS type)
SELECT cast(t AS STRING FORMAT 'yyyy') FROM s
