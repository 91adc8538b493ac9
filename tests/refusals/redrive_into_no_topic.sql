-- over: statement
-- at: 1:34
-- title: the topic has no name
-- hint: write the topic's name between the quotes
REDRIVE DEAD LETTERS FROM s INTO '' DRY RUN
