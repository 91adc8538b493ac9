"""Scalar functions on whole Arrow arrays, one module per family; mars/evaluate.py is the way in."""
