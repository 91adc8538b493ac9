-- over: statement
-- at: 1:6
-- title: unexpected topic
-- hint: write 'topic'
PEEK topic
