"""How good translations are: scores with their signatures, whether a difference is chance, and a page to read."""
