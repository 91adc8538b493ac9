-- over: statement
-- at: 1:26
-- title: a replay cannot begin with the latest window
-- hint: write FROM EARLIEST, or FROM and a time
ALTER SINK s REPLAY FROM LATEST
