-- over: statement
-- at: 1:27
-- title: INTO ICEBERG is not supported yet
-- hint: write INTO POSTGRES connection TABLE 'public.results', or INTO KAFKA TOPIC 'results'
CREATE SINK s FROM q INTO ICEBERG c TABLE 'ns.t'
