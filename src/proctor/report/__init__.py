"""One result, many renderings. A new output format is a new file here."""
