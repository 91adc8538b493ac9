-- over: once
-- at: 1:10
-- title: * takes no additions
-- hint: name the columns
SELECT s.* EXCEPT sip FROM s
