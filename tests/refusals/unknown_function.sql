-- over: continuous
-- at: 1:13
-- title: unknown function cuont
-- hint: did you mean count?
SELECT sip, cuont(*) FROM s GROUP BY sip WINDOWING 60 s
