"""The kinds of walls around student code, one file each, best first: bubblewrap, landlock, limits."""
