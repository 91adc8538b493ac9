-- over: continuous
-- at: 1:63
-- title: LIMIT cannot be part of a continuous query
-- hint: remove it, and use LIMIT when reading the results
SELECT sip, count(*) FROM s GROUP BY sip WINDOWING 60 s LIMIT 5
