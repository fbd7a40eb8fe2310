"""Evaluation of translations: scores with signatures, significance tests, and an HTML report."""
