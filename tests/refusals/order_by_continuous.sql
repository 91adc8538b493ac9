-- over: continuous
-- at: 1:66
-- title: ORDER BY cannot be part of a continuous query
-- hint: remove it, and use ORDER BY when reading the results
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s ORDER BY 2
