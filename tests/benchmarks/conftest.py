"""Benchmarks are scripts: they import each other by their bare names, as Python lets scripts of one folder do."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
