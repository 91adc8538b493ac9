"""Scalar functions on whole Arrow arrays, one module per family; mars/algebra/evaluate.py is the way in."""
