"""The benchmark of glossaries counts terms as whole words."""

from benchmarks.glossary import GLOSSARIES, measure  # type: ignore[import-not-found]

import hark


def test_measure() -> None:
    sentences = ["The house is red.", "It is late.", "My dog likes your dog."]
    found = measure(hark.load("en-de", threads=1), sentences, GLOSSARIES["en", "de"])
    assert (found["sentences"], found["terms"], found["found"]) == (2, 3, 1.0)
