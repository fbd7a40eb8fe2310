"""Small programs to read: `python -m examples.NAME`."""
