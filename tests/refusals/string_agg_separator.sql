-- over: continuous
-- at: 1:24
-- title: separator of string_agg must be a constant text
-- hint: write string_agg(x, ', ', 100)
SELECT string_agg(sip, 100, ', ') FROM s WINDOWING 60 s
