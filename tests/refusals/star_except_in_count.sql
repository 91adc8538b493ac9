-- over: continuous
-- at: 1:14
-- title: * takes no additions
-- hint: name the columns
SELECT count(* EXCEPT (sip)) FROM s WINDOWING 60 s
