-- over: continuous
-- at: 1:46
-- title: this expression is not part of the dialect
-- hint: docs/dialect.md lists the operators and functions
SELECT sip, count(*) FROM s GROUP BY ROLLUP (sip) WINDOWING 60 s
