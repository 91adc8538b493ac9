-- over: statement
-- at: 1:26
-- title: WHERE needs a condition
-- hint: write WHERE reason LIKE '%not a number%'
SHOW DEAD LETTERS FROM s WHERE LIMIT 5
