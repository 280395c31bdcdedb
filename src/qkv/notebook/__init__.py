"""What a student meets in a notebook: `check`, `hint`, `status`, `skip`, `reset`, `hand_in`, and what they need."""
