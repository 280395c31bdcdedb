"""A class: every submission is marked by some worker, noted in the journal, and reported."""
