-- over: continuous
-- at: 1:48
-- title: the column final is there twice
-- hint: give yours another name with AS
SELECT count(*) AS final FROM s WINDOWING 60 s EMIT EVERY 5 s
