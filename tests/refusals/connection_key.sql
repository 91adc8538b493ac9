-- over: statement
-- at: 1:59
-- title: a key does not stand in a statement
-- hint: mars secret set NAME asks for it and keeps it; then write KEY SECRET NAME
CREATE CONNECTION h TO HTTP (URL 'https://example/x', KEY 'k')
