"""The declarations of scalar functions, by topic. mars/algebra/functions.py is the one table of them all."""
