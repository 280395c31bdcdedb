"""The functions that students call in a notebook (`check`, `hint`, `status`, `skip`, `reset`, `hand_in`), and their
helpers."""
