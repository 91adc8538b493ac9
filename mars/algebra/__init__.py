"""The arithmetic that decides answers: which window and group a tuple is of (`window`, `grouping`, `hashing`),
expressions (`evaluate`, `functions` and their types), `aggregates`, and `cells`, the partial aggregates that are pushed
and merged. Pure.
"""
