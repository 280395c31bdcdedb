"""Where a class is marked. An engine takes a plan and submissions, and gives them back marked, in any order."""
