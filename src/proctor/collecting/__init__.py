"""What an LMS hands out, taken as it is: which student handed in what, and when. Nothing is guessed in silence."""
