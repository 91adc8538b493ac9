-- over: once
-- at: 1:32
-- title: LIMIT takes a whole number
-- hint: write LIMIT 100
SELECT sip, bytes FROM s LIMIT 3 BY sip
