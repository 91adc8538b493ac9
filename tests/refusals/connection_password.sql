-- over: statement
-- at: 1:79
-- title: a password does not stand in a statement
-- hint: mars secret set NAME asks for it and keeps it; then write PASSWORD SECRET NAME
CREATE CONNECTION wh TO POSTGRES (HOST 'db', DATABASE 'd', USER 'u', PASSWORD 'top')
