CREATE QUERY q AS SELECT sip, timestamp, count(*) FROM flows GROUP BY sip, timestamp WINDOWING SESSION GAP 5 min GRACE 10 s
