"""One answer: does it agree with the reference, and if not, which mistake does it make?"""
