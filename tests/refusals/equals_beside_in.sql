-- over: continuous
-- at: 1:30
-- title: <> beside IN needs parentheses
-- hint: write the part with IN in parentheses
SELECT count(*) FROM s WHERE ok <> type IN (6) WINDOWING 60 s
