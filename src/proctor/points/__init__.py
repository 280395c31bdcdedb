"""From verdicts to points: what a person corrects, what the policy says, and how the points of a student came about."""
