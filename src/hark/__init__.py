"""Hark: "Attention Is All You Need", built as software that people use."""

__version__ = "0.1.0"
