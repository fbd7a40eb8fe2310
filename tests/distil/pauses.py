"""Distillation slowed down so that it can be interrupted, in a module that a process of its own imports quickly."""

import time

from hark.distil import distil, record


def distil_slowly() -> None:
    """A few pairs at a time, each time recorded."""
    distil.CHUNK_PAIRS = 3
    record.SAVE_SECONDS = 0
    append = record.DistilledText.append

    def slow(self, *rest):
        append(self, *rest)
        time.sleep(0.2)

    record.DistilledText.append = slow
