"""What the reducer that leads does for all: recovery, lanes and assignments, and what it sees of topics and of Redis."""
