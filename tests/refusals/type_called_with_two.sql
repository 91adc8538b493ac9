-- over: once
-- at: 1:8
-- title: int takes 1 argument
-- hint: write int(a)
SELECT int(sip, 2) FROM s
