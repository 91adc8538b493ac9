-- over: once
-- at: 1:25
-- title: this LIMIT is too large
-- hint: write LIMIT 999999999, or leave it out
SELECT sip FROM s LIMIT 1000000000
