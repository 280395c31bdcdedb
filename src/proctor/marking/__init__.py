"""One submission: the answers in it, the runs that they need, and the verdict on each."""
