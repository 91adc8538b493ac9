-- over: statement
-- at: 1:15
-- title: INT cannot come before a text
-- hint: write cast('5' AS INT)
SELECT type + INT '5' FROM s
