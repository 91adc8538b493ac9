-- over: statement
-- at: 1:34
-- title: DATABASE is missing
-- hint: write DATABASE '...' among the options
CREATE CONNECTION wh TO POSTGRES (HOST 'db', USER 'u')
