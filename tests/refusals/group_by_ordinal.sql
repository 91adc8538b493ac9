-- over: continuous
-- at: 1:38
-- title: there is no column 3 in SELECT
-- hint: number them from 1, or write the column's name
SELECT sip, count(*) FROM s GROUP BY 3 WINDOWING 60 s
