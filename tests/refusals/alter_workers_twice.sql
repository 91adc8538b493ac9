-- over: statement
-- at: 1:30
-- title: MAPPERS is given twice
-- hint: give each number once
ALTER WORKERS SET MAPPERS 2, MAPPERS 3
