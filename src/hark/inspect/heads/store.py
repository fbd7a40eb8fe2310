"""The heads that align best, written into a model's card, where `hark translate --align` finds them."""

from hark.bundle import Bundle, write_card
from hark.decode.alignment_heads import with_alignment_heads
from hark.inspect.heads.alignment import Combination


def store(bundle: Bundle, best: Combination, pairs: int, corpus: str) -> str:
    """Write a line into a bundle's card, and seal the bundle again; the line."""
    note = f"alignment error rate {best.error:.3f} on {pairs:,} pairs of {corpus}"
    line = best.in_one_layer.line(note)
    write_card(bundle, with_alignment_heads(bundle.card, line))
    return line
