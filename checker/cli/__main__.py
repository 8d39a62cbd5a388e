"""`python -m checker.cli` is the command `isrcheck`."""

from checker.cli import main

main(prog_name="isrcheck")
