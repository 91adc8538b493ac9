-- over: once
-- at: 1:8
-- title: get_json_object(s, path) does not take STRING, STRING
-- hint: write get_json_object(s, '$.a.b[0]')
SELECT get_json_object(sip, 'a[*]') FROM s
