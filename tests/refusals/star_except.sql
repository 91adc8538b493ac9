-- over: once
-- at: 1:8
-- title: * stands alone
-- hint: name the columns
SELECT * EXCEPT sip FROM s
