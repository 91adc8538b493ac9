SELECT CASE WHEN ratio > 0.5 THEN 'high' ELSE 'low' END AS level, round(avg(price), 2) AS p, max(hour(seen)),
sum(bytes % 7 - (type - 1) * 2) FROM flows WHERE ratio <=> 1e0 OR -bytes < 3000000000 OR sip = 'it''s' GROUP BY level
