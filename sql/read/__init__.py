"""Text to a statement as read: its `words`, our own `clauses` cut out of them, plain SQL by sqlglot (`select`), and `parse`,
which knows all statements.
"""
