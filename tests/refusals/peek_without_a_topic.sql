-- over: statement
-- at: 1:6
-- title: the topic has no name
-- hint: write the topic's name between the quotes
PEEK ''
