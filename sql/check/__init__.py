"""A statement and its stream to a plan: `compile` for a SELECT, `condition` for a condition alone. What names mean
(`scopes`), expressions with their types (`lower`, `nodes`), and what the dialect does not take (`shape`, `unread`,
`strength`).
"""
