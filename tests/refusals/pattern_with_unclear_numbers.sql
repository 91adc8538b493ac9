-- over: once
-- at: 1:8
-- title: to_timestamp(s[, pattern]) does not take STRING, STRING
-- hint: write something between both numbers
SELECT to_timestamp(sip, 'dM') FROM s
