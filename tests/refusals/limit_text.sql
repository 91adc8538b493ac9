-- over: once
-- at: 1:25
-- title: LIMIT takes a whole number
-- hint: write LIMIT 100
SELECT sip FROM s LIMIT '5'
