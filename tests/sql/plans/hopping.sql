CREATE QUERY q AS SELECT sip, timestamp, count(*) FROM flows GROUP BY sip, timestamp WINDOWING 60 s EVERY 10 s OFFSET 3 s
