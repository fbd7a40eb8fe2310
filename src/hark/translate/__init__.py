"""Translation: text in, text out, on top of `hark.text` and an engine."""
