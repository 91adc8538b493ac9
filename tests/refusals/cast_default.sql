-- over: once
-- at: 1:17
-- title: a cast takes only a type
-- hint: write cast(x AS type)
SELECT try_cast(sip AS INT DEFAULT 5 ON CONVERSION ERROR) FROM s
