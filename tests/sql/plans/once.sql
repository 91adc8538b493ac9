SELECT sip, sum(bytes) AS total FROM flows WHERE d >= '2026-01-31' GROUP BY sip ORDER BY total DESC LIMIT 10
