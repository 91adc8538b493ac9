-- over: once
-- at: 1:8
-- title: * takes no additions
-- hint: name the columns
SELECT * EXCEPT sip FROM s
