-- over: statement
-- at: 1:40
-- title: HOST needs a text
-- hint: write HOST '...'
CREATE CONNECTION wh TO POSTGRES (HOST 127.0.0.1, DATABASE d, USER u)
