"""Bounded cache of word segmentations."""

from collections.abc import Callable
from typing import Any

MAX_ENTRIES = 1 << 19
"""About 100 MB of segmentations."""


class SegmentationCache(dict[Any, tuple[int, ...]]):
    """A dictionary that computes missing entries; hits cost no more than in a plain dictionary."""

    def __init__(self, compute: Callable[[Any], tuple[int, ...]]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, key: Any) -> tuple[int, ...]:
        if len(self) >= MAX_ENTRIES:
            self.clear()
        segmentation = self[key] = self.compute(key)
        return segmentation
