"""From an owner's state to the truth: when a commit is due, its file and its pointer, what it lets go, and what is fallen
back to when a file is damaged.
"""
