-- over: statement
-- at: 1:14
-- title: unexpected end of the statement
-- hint: write ALTER WORKERS SET MAPPERS 3, REDUCERS 2
ALTER WORKERS
