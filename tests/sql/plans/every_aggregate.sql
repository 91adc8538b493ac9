CREATE QUERY q AS SELECT count(*), count(dip), count(DISTINCT dip), sum(price), avg(price), avg(bytes), min(sip), max(seen),
var_pop(ratio), variance(ratio), stddev_pop(bytes), std(price), first(dip), last(ok) IGNORE NULLS, count_if(ok) FROM flows WINDOWING 10 s
