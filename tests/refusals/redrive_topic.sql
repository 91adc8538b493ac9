-- over: statement
-- at: 1:34
-- title: unexpected other
-- hint: write 'other'
REDRIVE DEAD LETTERS FROM s INTO other
