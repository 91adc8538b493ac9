-- over: statement
-- at: 1:38
-- title: unexpected end of the statement
-- hint: write DRY RUN at the end
REDRIVE DEAD LETTERS FROM stream1 DRY
