"""The systems that are compared, one file each. A file says in its docstring how its system is set and why.

Their programs run in processes of their own, some in a Python without our packages: these files import nothing of
ours but `protocol` and `program` at their top, and those nothing but the standard library.
"""
