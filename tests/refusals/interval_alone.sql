-- over: once
-- at: 1:17
-- title: an interval stands alone
-- hint: write t + INTERVAL '1' DAY, or INTERVAL '90' SECOND
SELECT INTERVAL '1' DAY AS i FROM s
