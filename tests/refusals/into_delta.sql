-- over: statement
-- at: 1:27
-- title: INTO DELTA is not supported yet
-- hint: write INTO POSTGRES connection TABLE 'public.results', or INTO KAFKA TOPIC 'results'
CREATE SINK s FROM q INTO DELTA c TABLE 'ns.t'
