-- over: statement
-- at: 1:19
-- title: UNION is not part of a SELECT over a stream
-- hint: make a query of each SELECT, and combine their results
SELECT sip FROM s UNION SELECT sip FROM r
