"""The text of `make demo`: it keeps to its house style, and what measures is not what was learnt."""

import re
import runpy
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "house-style"
PROGRAM = runpy.run_path(str(FOLDER / "count_terms.py"))
count_terms, find_terms, read_columns = (PROGRAM[name] for name in ("count_terms", "find_terms", "read_columns"))

TERMS = PROGRAM["read_terms"]()
PARTS = {name: read_columns(FOLDER / f"{name}.tsv") for name in ("train", "dev", "test")}
EVERY = [pair for part in PARTS.values() for pair in part]


@cache
def words(sentence: str, side: int) -> tuple[str, ...]:
    """Its words in lower case, each term standing as one word."""
    for number, (english, german) in enumerate(TERMS.items()):
        stem = english if side == 0 else "|".join(map(re.escape, german))
        sentence = re.sub(rf"(?<!\w)({stem})\w*", f"term{number}", sentence, flags=re.IGNORECASE)
    return tuple(re.findall(r"\w+", sentence.lower()))


def runs(sentence: str, side: int, length: int) -> set[tuple[str, ...]]:
    found = words(sentence, side)
    return {found[start : start + length] for start in range(len(found) - length + 1)}


def test_sizes() -> None:
    assert {name: len(pairs) for name, pairs in PARTS.items()} == {"train": 200, "dev": 40, "test": 100}
    for side in (0, 1):
        assert max(Counter(pair[side] for pair in EVERY).values()) == 1
    for pair in EVERY:
        for text in pair:
            assert text == unicodedata.normalize("NFC", " ".join(text.split()))
            assert text


@pytest.mark.parametrize("held_out", ["dev", "test"])
@pytest.mark.parametrize("side", [0, 1])
def test_held_out_sentences_are_no_near_duplicates(held_out: str, side: int) -> None:
    learnt = {run for pair in PARTS["train"] for run in runs(pair[side], side, 5)}
    assert not {run for pair in PARTS[held_out] for run in runs(pair[side], side, 5)} & learnt
    for pair in PARTS[held_out]:
        mine = set(words(pair[side], side))
        for other in PARTS["train"]:
            theirs = set(words(other[side], side))
            shared = 2 * len(mine & theirs) / (len(mine) + len(theirs))
            assert shared < 0.7, (pair[side], other[side])


def test_near_duplicates_would_be_found() -> None:
    assert runs("The keeper can change any run sheet.", 0, 5) & runs("The keeper can change any guest slip.", 0, 5)


def test_references_have_the_terms() -> None:
    for source, reference in EVERY:
        right, total = count_terms([source], [reference], TERMS)
        assert right == total, (source, reference)


def test_each_term_is_learnt_and_measured() -> None:
    for name, least in (("train", 5), ("dev", 1), ("test", 2)):
        counts = Counter(term for source, _ in PARTS[name] for term in find_terms(source, TERMS))
        assert min(counts[term] for term in TERMS) >= least, (name, counts)


def test_references_keep_to_the_style() -> None:
    for source, reference in EVERY:
        assert not re.search(r"\bbitte\b|!", reference, re.IGNORECASE), reference
        assert not re.search(r"(?<=\w )(Sie|Ihnen|Ihr\w*|Du|Dir|Dich|Dein\w*)\b", reference), reference
        assert '"' not in reference, reference
        for hour in re.findall(r"(\d+) pm", source):
            assert f"{int(hour) + 12} Uhr" in reference, reference


def test_terms_are_counted() -> None:
    terms = {"run sheet": ("Laufzettel",), "inbox": ("Eingangskorb", "Eingangskörb"), '"Save"': ("„Sichern“",)}
    sources = ["Run sheets and inboxes.", 'Tap "Save".', "Save the whales."]
    assert [list(find_terms(source, terms)) for source in sources] == [["run sheet", "inbox"], ['"Save"'], []]
    right = ["Laufzettel und Eingangskörbe.", "Tippe auf „Sichern“.", "Rettet die Wale."]
    wrong = ["Laufblätter und Eingangskörbe.", 'Tippe auf "Save".', "Sichern"]
    assert count_terms(sources, right, terms) == (3, 3)
    assert count_terms(sources, wrong, terms) == (1, 3)
