-- over: once
-- at: 1:8
-- title: * takes no additions
-- hint: name the columns
SELECT * RENAME sip AS x FROM s
