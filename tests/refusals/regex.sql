-- over: continuous
-- at: 1:40
-- title: the regular expression is not valid
-- hint: use RE2's syntax: no look-around, no back references
SELECT count(*) FROM s WHERE sip RLIKE '(?=a)' WINDOWING 60 s
