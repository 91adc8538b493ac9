-- over: once
-- at: 1:8
-- title: regexp_replace(s, pattern, by) does not take STRING, STRING, STRING
-- hint: write a group in parentheses, or $0 for the whole
SELECT regexp_replace(sip, '([0-9])', '$2') FROM s
