"""A statement and its stream to a plan: `compile` for a SELECT, `condition` for a condition alone. `scopes` says what
names mean, `lower` and `nodes` give expressions their types, and `shape`, `unread` and `strength` refuse what the dialect
does not take.
"""
