-- over: once
-- at: 1:42
-- title: ORDER BY takes a column of the select list
-- hint: did you mean sip?
SELECT upper(sip) AS sip FROM s ORDER BY s.sip
