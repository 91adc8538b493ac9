-- over: once
-- at: 1:8
-- title: * takes no additions
-- hint: name the columns
SELECT * REPLACE (1 AS sip) FROM s
