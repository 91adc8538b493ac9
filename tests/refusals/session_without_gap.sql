-- over: statement
-- at: 1:55
-- title: unexpected 5
-- hint: write WINDOWING SESSION GAP 5 min, or SESSION GAP 5 min MAX 1 h
SELECT count(*) FROM s GROUP BY sip WINDOWING SESSION 5 min
