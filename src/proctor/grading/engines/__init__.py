"""Engines: where a class is marked. An engine takes a plan and submissions, and yields them marked, in any order."""
