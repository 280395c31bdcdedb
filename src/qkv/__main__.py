"""`python -m qkv …` is `qkv …`, for shells that don't have the environment's scripts on their path."""

from qkv.commands.cli import main

main(prog_name="qkv")
