"""Benchmarks of speed and quality. Run one as `python -m benchmarks.NAME` from the root of the repository."""
