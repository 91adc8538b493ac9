-- over: once
-- at: 1:8
-- title: sha2(s, bits) does not take STRING, INT
-- hint: write sha2(s, 256)
SELECT sha2(sip, 128) FROM s
