-- over: once
-- at: 1:19
-- title: unexpected INTO
-- hint: put a name with other characters in `backticks`
SELECT sip FROM s INTO
