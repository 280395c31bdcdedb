"""A class gone through by a person: answers grouped by mistake, on a local page that writes corrections."""
