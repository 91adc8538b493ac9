-- over: continuous
-- at: 1:51
-- title: the column revision is there twice
-- hint: give yours another name with AS
SELECT count(*) AS revision FROM s WINDOWING 60 s LATE UPDATE FOR 5 min
