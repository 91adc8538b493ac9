CREATE QUERY q AS SELECT upper(sip) AS host, window_end AS until, sum(bytes) / count(*), max(price) FILTER (WHERE ok)
FROM flows WHERE type IN (6, 17) AND (sip LIKE '10.%' OR NOT ok) GROUP BY host
WINDOWING 5 min HAVING count(DISTINCT dip) > 2 AND until > TIMESTAMP '2026-01-01' WATERMARK 10 s IDLE OFF MAXAHEAD 90 s GRACE 1 min FROM '2026-01-31'
