"""The state that the owner of a key part holds for each query: merging entries in offset order, closing windows, and
reasons to stop a query."""
