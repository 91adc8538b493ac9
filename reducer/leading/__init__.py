"""What the leading reducer does for all: recovery, lanes and assignments, and watching topics and Redis."""
