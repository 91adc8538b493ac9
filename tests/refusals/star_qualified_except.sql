-- over: once
-- at: 1:10
-- title: * stands alone
-- hint: name the columns
SELECT s.* EXCEPT sip FROM s
