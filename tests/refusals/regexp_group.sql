-- over: once
-- at: 1:8
-- title: regexp_extract(s, pattern[, group]) does not take STRING, STRING, INT
-- hint: write a group in parentheses, or 0 for the whole
SELECT regexp_extract(sip, '[0-9]+', 1) FROM s
