-- over: statement
-- at: 1:14
-- title: unexpected LETTER
-- hint: did you mean LETTERS?
REDRIVE DEAD LETTER FROM s
