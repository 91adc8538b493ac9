-- over: statement
-- at: 1:39
-- title: unexpected 'public.t'
-- hint: write INTO POSTGRES connection TABLE 'public.results'
CREATE SINK s FROM q INTO POSTGRES wh 'public.t'
