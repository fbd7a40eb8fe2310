"""Drawing sentences from held-out text of domains: reproducible, and none twice."""

import random
from pathlib import Path

import pytest
from benchmarks.lines import Pair, draw, read_pairs, shape  # type: ignore[import-not-found]

DOMAINS = ("docs", "games")
WORDS = ["apple", "bird", "cloud", "door", "eagle", "fire", "green", "house", "island", "juice"]


def write(data: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "de")):
        (data / f"{name}.{language}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")


def make_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    chosen = random.Random(seed)
    sides = [" ".join(chosen.choices(WORDS, k=8)) for _ in range(count)]
    return [(f"The {side}.", f"Das {side.upper()[::-1]}.") for side in sides]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shared = make_pairs(40, seed=0)
    for seed, which in enumerate(("dev", "test")):
        write(tmp_path, f"docs.{which}", [*make_pairs(100, seed=2 * seed + 1), *shared])
        write(tmp_path, f"games.{which}", [*make_pairs(100, seed=2 * seed + 2), *shared])
    return tmp_path


def test_draws_are_reproducible_and_their_sentences_differ(data: Path) -> None:
    test = draw(data, "test", 60, DOMAINS)
    assert test == draw(data, "test", 60, DOMAINS)
    assert [pair.domain for pair in test] == ["docs"] * 30 + ["games"] * 30
    sides = [shape(side) for pair in test for side in (pair.english, pair.german)]
    assert len(set(sides)) == len(sides) == 2 * 60
    assert test != draw(data, "dev", 60, DOMAINS)


def test_the_order_of_a_file_does_not_matter(data: Path) -> None:
    before = draw(data, "test", 60, DOMAINS)
    for domain in DOMAINS:
        write(data, f"{domain}.test", list(read_pairs(data / f"{domain}.test"))[::-1])
    assert draw(data, "test", 60, DOMAINS) == before


def test_sentences_that_differ_only_in_numbers_and_case_are_drawn_once(tmp_path: Path) -> None:
    numbered = [(f"Page {n} of the book", f"Seite {n} des Buches") for n in range(50)]
    write(tmp_path, "docs.dev", [*numbered, ("PAGE 3 OF THE BOOK!", "Buchseite 3 von allen")])
    assert len(draw(tmp_path, "dev", 10, ["docs"])) == 1


def test_unsuitable_pairs_are_left_out(tmp_path: Path) -> None:
    good = ("A good pair", "Ein gutes Paar")
    long = " ".join(["word"] * 61)
    bad = [("Too short", "Das ist zu kurz"), (long, "Das ist zu lang"), ("The same on both", "the same, on both")]
    write(tmp_path, "docs.test", [*bad, good])
    assert list(read_pairs(tmp_path / "docs.test")) == [good]


def test_the_sides_of_a_pair() -> None:
    pair = Pair("docs", "house", "Haus")
    assert (pair.side("en"), pair.side("de")) == ("house", "Haus")
