"""Runs statements: `dispatch` takes any of them; `define` changes what exists; `show`, `letters`, `select_stream` and
`select_results` answer with rows; `context` is what all of them work with.
"""
