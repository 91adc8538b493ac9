"""Systems as clusters on this machine: each node is a tree of processes that can be cut off and brought back."""
