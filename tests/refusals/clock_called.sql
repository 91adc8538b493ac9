-- over: once
-- at: 1:27
-- title: unknown function current_timestamp
-- hint: a result must not depend on when it is computed
SELECT * FROM s WHERE t < current_timestamp()
