CREATE QUERY q AS SELECT type, sum(DISTINCT bytes), every(ok), max_by(dip, bytes), corr(bytes, price), covar_pop(bytes, price),
skewness(ratio), array_agg(dip, 10), string_agg(dip, ', ', 3) FILTER (WHERE ok) AS three, string_agg(dip, '; ', 3) AS other,
median(bytes), top_k(bytes, 10), percentile(bytes, 0.95), approx_percentile(bytes, 0.99), approx_percentile(bytes, 0.5) AS half,
approx_count_distinct(sip), hll_sketch_agg(sip) AS sketch, histogram(bytes, 0, 1500, 30)
FROM flows GROUP BY type WINDOWING 60 s
