-- over: once
-- at: 1:8
-- title: lpad(s, n[, pad]) does not take STRING, INT
-- hint: write a whole number
SELECT lpad(sip, type) FROM s
