-- over: once
-- at: 1:17
-- title: SELECT DISTINCT takes plain columns
-- hint: write GROUP BY without DISTINCT
SELECT DISTINCT sip, count(*) FROM s GROUP BY sip
