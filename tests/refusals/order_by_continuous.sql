-- over: continuous
-- at: 1:66
-- title: ORDER BY of a continuous query needs LIMIT
-- hint: write LIMIT 10 behind it, or use ORDER BY when reading the results
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s ORDER BY 2
