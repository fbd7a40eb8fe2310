"""Decoding: from source tokens to target tokens (engines), and from text to text (the translator)."""
