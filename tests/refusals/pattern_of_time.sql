-- over: once
-- at: 1:8
-- title: date_format(t, pattern) does not take TIMESTAMP, STRING
-- hint: write one of them, and put text into quotes: 'yyyy-MM-dd''T''HH:mm'
SELECT date_format(t, 'yyyy-MM-ddXXX') FROM s
