-- over: once
-- at: 1:8
-- title: * stands alone
-- hint: name the columns
SELECT * RENAME sip AS x FROM s
