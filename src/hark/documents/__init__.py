"""Translates files: a reader for each format takes out the texts, and writes the file again with their translations."""
