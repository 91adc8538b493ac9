-- over: continuous
-- at: 1:30
-- title: = beside LIKE needs parentheses
-- hint: write the part with LIKE in parentheses
SELECT count(*) FROM s WHERE sip LIKE 'a%' = ok WINDOWING 60 s
