-- over: continuous
-- at: 1:62
-- title: PARTITION BY differs from GROUP BY
-- hint: name the same columns in both, or leave out PARTITION BY
SELECT sip, count(*) FROM TABLE(SESSION(TABLE s PARTITION BY sip, type, DESCRIPTOR(timestamp), INTERVAL '5' MINUTE)) GROUP BY window_start, window_end, sip
