-- over: continuous
-- at: 1:39
-- title: the pattern is not valid
-- hint: write \\ for the character itself, and double each of them in a text: \\\\
SELECT count(*) FROM s WHERE sip LIKE '%\\x%' WINDOWING 60 s
