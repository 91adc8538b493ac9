-- over: statement
-- at: 1:29
-- title: KEY is missing
-- hint: write KEY SECRET name among the options
CREATE CONNECTION h TO HTTP (URL 'https://example/x')
