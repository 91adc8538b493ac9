-- over: once
-- at: 1:22
-- title: a name is empty
-- hint: write a name in them, or '' for the empty text
SELECT max(bytes) AS `` FROM s
