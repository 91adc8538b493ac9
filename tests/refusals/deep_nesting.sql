-- over: statement
-- at: 1:68
-- title: too deeply nested
-- hint: write the condition flatter, with IN or AND
SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) FROM s
