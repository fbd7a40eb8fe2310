"""A bounded dictionary that works out what it does not hold yet."""

from collections.abc import Callable
from typing import Any

REMEMBERED = 1 << 19
"""Entries; of segmentations of words about 100 MB."""


class Memory(dict[Any, tuple[int, ...]]):
    """Segmentations that were found before; hits cost no more than those of a dictionary."""

    def __init__(self, find: Callable[[Any], tuple[int, ...]]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, key: Any) -> tuple[int, ...]:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[key] = self.find(key)
        return found
