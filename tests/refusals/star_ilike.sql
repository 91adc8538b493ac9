-- over: once
-- at: 1:8
-- title: * stands alone
-- hint: name the columns
SELECT * ILIKE 'b%' FROM s
