"""`python -m isrcheck` is the command `isrcheck`."""

from isrcheck.checker.cli import main

main(prog_name="isrcheck")
