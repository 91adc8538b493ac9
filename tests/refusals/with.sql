-- over: once
-- at: 1:6
-- title: WITH is not part of a SELECT over a stream
-- hint: write one SELECT over the stream; WITH works over the results of queries
WITH x AS (SELECT sip FROM s) SELECT sip FROM x
