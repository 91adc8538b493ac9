-- over: continuous
-- at: 1:40
-- title: the regular expression does not read
-- hint: RE2's syntax is read: no look-around, no back references
SELECT count(*) FROM s WHERE sip RLIKE '(?=a)' WINDOWING 60 s
