-- over: continuous
-- at: 1:38
-- title: this number is too large
-- hint: write a smaller number
SELECT count(*) FROM s WHERE ratio > 1e999 WINDOWING 60 s
