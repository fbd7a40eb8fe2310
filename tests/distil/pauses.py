"""Distillation that pauses so that it can be interrupted, in a module that a process of its own imports quickly."""

import time

from hark.distil import distil
from hark.distil import distil as record

PAUSE = 60
"""Seconds, of which a test waits for none."""


def distil_and_pause() -> None:
    """Record a few pairs, then pause."""
    distil.CHUNK_PAIRS = 3
    record.SAVE_SECONDS = 0
    append = record.DistilledText.append

    def append_and_pause(self, *rest):
        append(self, *rest)
        time.sleep(PAUSE)

    record.DistilledText.append = append_and_pause
