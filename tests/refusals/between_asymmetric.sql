-- over: continuous
-- at: 1:30
-- title: BETWEEN takes two bounds
-- hint: write BETWEEN lower AND upper
SELECT count(*) FROM s WHERE type BETWEEN ASYMMETRIC 1 AND 10 WINDOWING 60 s
