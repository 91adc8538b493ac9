-- over: continuous
-- at: 2:17
-- title: unknown column spi
-- hint: did you mean sip?
SELECT spi, count(*)
FROM s GROUP BY spi WINDOWING 60 s
