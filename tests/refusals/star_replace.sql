-- over: once
-- at: 1:8
-- title: * stands alone
-- hint: name the columns
SELECT * REPLACE (1 AS sip) FROM s
