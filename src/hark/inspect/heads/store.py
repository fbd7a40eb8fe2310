"""Stores the best alignment heads in a model's facts, for `hark translate --align`."""

from dataclasses import replace

from hark.bundle import Bundle, write_facts
from hark.facts import AlignmentFacts
from hark.inspect.heads.alignment import Combination


def store(bundle: Bundle, best: Combination, pairs: int, corpus: str) -> AlignmentFacts:
    """Replace the alignment heads in a bundle's facts; return the new ones."""
    heads = best.in_one_layer
    found = AlignmentFacts(heads.layer, heads.heads, heads.step, best.error, pairs, corpus)
    write_facts(bundle, replace(bundle.facts, alignment=found))
    return found
