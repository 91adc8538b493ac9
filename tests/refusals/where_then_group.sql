-- over: statement
-- at: 1:31
-- title: something is missing at GROUP BY
-- hint: complete it, or remove it
SELECT count(*) FROM s WHERE  GROUP BY a WINDOWING 60 s
