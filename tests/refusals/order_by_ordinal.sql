-- over: once
-- at: 1:28
-- title: there is no column 3 in SELECT
-- hint: number them from 1
SELECT sip FROM s ORDER BY 3
