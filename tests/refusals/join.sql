-- over: continuous
-- at: 1:29
-- title: JOIN is not part of a SELECT over a stream
-- hint: make a query of each stream, and join their results
SELECT count(*) FROM s JOIN r ON s.sip = r.sip WINDOWING 60 s
