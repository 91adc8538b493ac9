-- over: statement
-- at: 1:21
-- title: unexpected sink
-- hint: write INTO POSTGRES connection TABLE 'public.results', or INTO KAFKA TOPIC 'results'
CREATE QUERY q INTO sink AS SELECT count(*) FROM s WINDOWING 60 s
