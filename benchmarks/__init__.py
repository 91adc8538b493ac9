"""Measurements of a whole Mars, and the tuples that they and the demo are made with."""
