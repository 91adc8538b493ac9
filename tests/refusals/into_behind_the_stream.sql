-- over: once
-- at: 1:19
-- title: unexpected INTO
-- hint: a name with other characters stands in `backticks`
SELECT sip FROM s INTO
