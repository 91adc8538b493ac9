-- over: statement
-- at: 1:49
-- title: unknown option PORTS
-- hint: did you mean PORT?
CREATE CONNECTION wh TO POSTGRES (HOST 'db.ex', PORTS 5432)
