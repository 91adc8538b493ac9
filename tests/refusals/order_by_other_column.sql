-- over: once
-- at: 1:51
-- title: ORDER BY takes a column of the select list
-- hint: add it to SELECT, or write its number
SELECT sip, count(*) FROM s GROUP BY sip ORDER BY max(bytes)
