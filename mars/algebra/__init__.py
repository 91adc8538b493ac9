"""The arithmetic that decides answers: which window and group a tuple is of (`windows`, `grouping`, `hashing`),
expressions (`evaluate`, `functions` and their types), `partials` and `aggregates`, and `cells`, the partial aggregates
that are pushed and merged. Pure.
"""
