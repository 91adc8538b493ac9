-- over: continuous
-- at: 1:96
-- title: EMIT CHANGES does not go with SESSION windows
-- hint: write WINDOWING 60 s, EVERY or LANDMARK
SELECT sip, count(*) AS n FROM s GROUP BY sip WINDOWING SESSION GAP 60 s GRACE 5 s FROM LATEST EMIT CHANGES
