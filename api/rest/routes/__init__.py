"""One module for each group of paths."""
