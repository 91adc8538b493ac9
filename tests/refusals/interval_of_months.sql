-- over: once
-- at: 1:21
-- title: months and years are added to a DATE alone
-- hint: write add_months(t, 1), or an interval of days
SELECT t + INTERVAL '1' MONTH FROM s
