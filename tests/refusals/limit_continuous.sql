-- over: continuous
-- at: 1:63
-- title: LIMIT of a continuous query needs ORDER BY
-- hint: write ORDER BY 2 DESC before it, or use LIMIT when reading the results
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s LIMIT 5
