-- over: once
-- at: 1:52
-- title: LIMIT takes a whole number
-- hint: write LIMIT 100
SELECT sip, bytes FROM s ORDER BY bytes DESC LIMIT 10 PERCENT
