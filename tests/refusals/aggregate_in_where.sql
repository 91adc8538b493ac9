-- over: continuous
-- at: 1:25
-- title: max is an aggregate and does not belong in WHERE
-- hint: use HAVING
SELECT sip FROM s WHERE max(bytes) > 1 GROUP BY sip WINDOWING 60 s
