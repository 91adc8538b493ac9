-- over: continuous
-- at: 1:39
-- title: the pattern does not read
-- hint: write \\ for the character itself, and each of them twice in a text: \\\\
SELECT count(*) FROM s WHERE sip LIKE '%\\x%' WINDOWING 60 s
