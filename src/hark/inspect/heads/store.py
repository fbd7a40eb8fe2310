"""The heads that align best, written into a model's facts, where `hark translate --align` finds them."""

from dataclasses import replace

from hark.bundle import Bundle, write_facts
from hark.facts import AlignmentFacts
from hark.inspect.heads.alignment import Combination


def store(bundle: Bundle, best: Combination, pairs: int, corpus: str) -> AlignmentFacts:
    """Replace the alignment heads among a bundle's facts; the new ones."""
    heads = best.in_one_layer
    found = AlignmentFacts(heads.layer, heads.heads, heads.step, best.error, pairs, corpus)
    write_facts(bundle, replace(bundle.facts, alignment=found))
    return found
