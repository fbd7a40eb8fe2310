"""Measurements of speed and quality: run one as `python -m benchmarks.NAME` from the root of the repository."""
