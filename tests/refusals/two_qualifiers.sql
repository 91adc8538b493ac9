-- over: once
-- at: 1:8
-- title: a column has one qualifier
-- hint: write stream.column
SELECT nosuch.s.sip FROM s
