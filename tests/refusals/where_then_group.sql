-- over: statement
-- at: 1:31
-- title: unexpected GROUP BY
-- hint: a name with other characters stands in `backticks`
SELECT count(*) FROM s WHERE  GROUP BY a WINDOWING 60 s
