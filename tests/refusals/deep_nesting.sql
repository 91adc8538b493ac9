-- over: statement
-- at: 1:68
-- title: too deeply nested
-- hint: nest the condition less, with IN or AND
SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) FROM s
