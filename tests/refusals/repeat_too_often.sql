-- over: once
-- at: 1:8
-- title: repeat(s, n) does not take STRING, INT
-- hint: write a smaller number
SELECT repeat(sip, 10001) FROM s
