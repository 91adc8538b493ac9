-- over: continuous
-- at: 1:33
-- title: unknown function window
-- hint: write WINDOWING 60 s after GROUP BY
SELECT count(*) FROM s GROUP BY window(t, '60 s') WINDOWING 60 s
