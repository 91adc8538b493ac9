-- over: once
-- at: 1:19
-- title: EXCEPT is not part of a SELECT over a stream
-- hint: make a query of each SELECT, and combine their results
SELECT sip FROM s EXCEPT (SELECT sip FROM r)
