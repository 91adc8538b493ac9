"""`python -m api.cli` is `mars`."""

from api.cli import main

main()
