"""Drawing sentences from domains: reproducible, and without overlap between draws."""

import lzma
import random
from pathlib import Path

import pytest
from benchmarks.domains import Pair, draw, read_pairs, shape  # type: ignore[import-not-found]

FILES = ("one/docs", "two/games")
WORDS = ["apple", "bird", "cloud", "door", "eagle", "fire", "green", "house", "island", "juice"]


def write(data: Path, file: str, pairs: list[tuple[str, str]]) -> None:
    path = data / f"{file}.en-de.tsv.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{english}\t{german}\n" for english, german in pairs).encode()))


def make_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    chosen = random.Random(seed)
    sides = [" ".join(chosen.choices(WORDS, k=8)) for _ in range(count)]
    return [(f"The {side}.", f"Das {side.upper()[::-1]}.") for side in sides]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shared = make_pairs(40, seed=0)
    write(tmp_path, "one/docs", [*make_pairs(100, seed=1), *shared])
    write(tmp_path, "two/games", [*make_pairs(100, seed=2), *shared])
    return tmp_path


def test_draws_are_reproducible_and_disjoint(data: Path) -> None:
    dev, test = draw(data, "dev", 60, FILES), draw(data, "test", 60, FILES)
    assert dev == draw(data, "dev", 60, FILES)
    assert [pair.domain for pair in dev] == ["docs"] * 30 + ["games"] * 30
    sides = [shape(side) for pair in (*dev, *test) for side in (pair.english, pair.german)]
    assert len(set(sides)) == len(sides) == 4 * 60


def test_the_order_of_a_file_does_not_matter(data: Path) -> None:
    before = draw(data, "test", 60, FILES)
    for file in FILES:
        pairs = list(read_pairs(data / f"{file}.en-de.tsv.xz"))
        write(data, file, pairs[::-1])
    assert draw(data, "test", 60, FILES) == before


def test_sentences_that_differ_only_in_numbers_and_case_are_drawn_once(tmp_path: Path) -> None:
    numbered = [(f"Page {n} of the book", f"Seite {n} des Buches") for n in range(50)]
    write(tmp_path, "one/docs", [*numbered, ("PAGE 3 OF THE BOOK!", "Buchseite 3 von allen")])
    assert len(draw(tmp_path, "dev", 10, ["one/docs"])) + len(draw(tmp_path, "test", 10, ["one/docs"])) == 1


def test_unsuitable_pairs_are_left_out(tmp_path: Path) -> None:
    good = ("A good pair", "Ein gutes Paar")
    long = " ".join(["word"] * 61)
    bad = [("Too short", "Das ist zu kurz"), (long, "Das ist zu lang"), ("The same on both", "the same, on both")]
    write(tmp_path, "one/docs", [*bad, good])
    assert list(read_pairs(tmp_path / "one/docs.en-de.tsv.xz")) == [good]


def test_the_sides_of_a_pair() -> None:
    pair = Pair("docs", "house", "Haus")
    assert (pair.side("en"), pair.side("de")) == ("house", "Haus")
