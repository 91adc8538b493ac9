-- over: once
-- at: 1:17
-- title: INTO is not part of a SELECT over a stream
-- hint: remove it
SELECT sip INTO x FROM s
