"""Packs arrays for a page: quantised to 8 or 16 bits, compressed, and decoded in the browser on first use.

Each array is a block compressed on its own (raw deflate, which browsers decode with `DecompressionStream`), so that a
page of many layers opens without unpacking them all. The blocks are concatenated in one base64 string.
"""

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Bits = Literal[8, 16]
LEVEL = 6
"""Of compression. The highest, 9, takes four times as long for long sentences, and saves less than 1% of a page."""


@dataclass
class Pack:
    """Compressed blocks and their offsets. In each, the high bytes of all numbers come first, then the low bytes: this
    compresses better, because high bytes are similar."""

    blocks: dict[str, dict[str, Any]] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    """Compressed bytes so far."""

    def add_shares(self, name: str, shares: NDArray[np.float32], bits: Bits) -> None:
        """Add numbers between 0 and 1, rounded to multiples of 1/255 or 1/65535."""
        most = (1 << bits) - 1
        rounded = np.rint(shares.clip(0, 1).astype(np.float64) * most)
        self._add(name, rounded.astype(f">u{bits // 8}"), scale=1 / most)

    def add_signed(self, name: str, numbers: NDArray[np.float32]) -> None:
        """Add any numbers, rounded to multiples of 1/32767 of the largest."""
        largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
        rounded = np.rint(numbers.astype(np.float64) / largest * 32767)
        self._add(name, rounded.astype(">i2"), scale=largest / 32767)

    def _add(self, name: str, integers: NDArray[Any], scale: float) -> None:
        planes = np.ascontiguousarray(integers).view(np.uint8).reshape(-1, integers.itemsize).T
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(planes.tobytes()) + packer.flush()
        self.blocks[name] = {
            "at": self.size,
            "bytes": len(packed),
            "shape": list(integers.shape),
            "type": f"{integers.dtype.kind}{8 * integers.itemsize}",
            "scale": scale,
        }
        self.parts.append(packed)
        self.size += len(packed)

    @property
    def text(self) -> str:
        """All blocks as base64."""
        return base64.b64encode(b"".join(self.parts)).decode()


def text_size(packed: int) -> int:
    """The number of base64 characters for this many bytes."""
    return -(-packed // 3) * 4
