-- over: once
-- at: 1:8
-- title: unknown function sin
-- hint: its last digits depend on the CPU: calculate it from the results
SELECT sin(ratio) FROM s
