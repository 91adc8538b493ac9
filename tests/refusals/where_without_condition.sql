-- over: statement
-- at: 1:19
-- title: something is missing at WHERE
-- hint: complete it, or remove it
SELECT sip FROM s WHERE
