"""Translation memories: exact and similar texts, in TMX and SQLite."""

import random
import sqlite3
import tracemalloc
from io import BytesIO
from pathlib import Path

import pytest

from hark.data.compression import ByteStream
from hark.data.tmx import MissingPairError, parse_tmx
from hark.documents import memory as memory_file
from hark.documents.memory import (
    MIN_SIMILARITY,
    FuzzyMatch,
    Memory,
    SimilarTexts,
    add_to_memory,
    carry_links,
    open_memory,
)
from hark.documents.tmx import TranslationUnit, add_units, new_tmx
from hark.errors import UserError
from hark.translate.align import Link, word_spans

PAIRS = [("The house is old.", "Das Haus ist alt."), ("<b> & {name}", "{name} & <b>"), ("a\u0001b", "c")]


def memory(**units: str) -> Memory:
    return Memory(units.get, units.keys)


@pytest.mark.parametrize("name", ["memory.tmx", "memory.sqlite"])
def test_what_is_added_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert add_to_memory(path, PAIRS[:2], "en", "de") == (2, 0)
    found = open_memory(path, "en", "de")
    assert found.exact(" The house is old.\n") == " Das Haus ist alt.\n"
    assert found.exact("<b> & {name}") == "{name} & <b>"
    assert found.exact("The house") is None
    assert found.exact(" ") is None
    assert found.similar("The house was old.") == FuzzyMatch("The house is old.", "Das Haus ist alt.", 0.914)
    assert found.similar("The house is old.") is None
    assert found.similar("Something else entirely") is None


@pytest.mark.parametrize("name", ["memory.tmx", "memory.sqlite"])
def test_a_correction_replaces_what_was_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    add_to_memory(path, PAIRS, "en", "de")
    again = [("The house is old.", "Das Gebäude ist alt."), PAIRS[1], ("new", "neu"), (" ", "x")]
    assert add_to_memory(path, again, "en", "de") == (1, 1)
    found = open_memory(path, "en", "de")
    assert found.exact("The house is old.") == "Das Gebäude ist alt."
    assert found.exact("new") == "neu"


@pytest.mark.parametrize("name", ["memory.tmx", "memory.sqlite"])
def test_pairs_of_languages_are_separate(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    add_to_memory(path, PAIRS, "en", "de")
    with pytest.raises(MissingPairError):
        open_memory(path, "en", "fr")
    assert add_to_memory(path, [("new", "nouveau")], "en", "fr") == (1, 0)
    assert open_memory(path, "en", "fr").exact("The house is old.") is None


def test_a_translation_without_the_placeholders_is_not_used() -> None:
    assert memory(**{"Hi {{x1}}": "Hallo"}).exact("Hi {{x1}}") is None
    assert memory(**{"%d files": "Dateien"}).exact("%d files") is None
    assert memory(**{"%d files": "Dateien: %d"}).exact("%d files") == "Dateien: %d"


def test_units_are_added_to_a_tmx_of_others_without_other_changes(tmp_path: Path) -> None:
    path = tmp_path / "theirs.tmx"
    before = b'<?xml version="1.0"?>\r\n<tmx version="1.4"><!-- theirs --><header/><body>\r\n</body></tmx>'
    path.write_bytes(before)
    add_to_memory(path, [("a", "b")], "en", "de")
    unit = b'<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>\n'
    assert path.read_bytes() == before.replace(b"</body>", unit + b"</body>")


def test_doubtful_units_of_an_alignment_are_not_read(tmp_path: Path) -> None:
    units = [TranslationUnit("good", "gut", 0.9), TranslationUnit("bad", "irgendwas", 0.1, low=True)]
    path = tmp_path / "aligned.tmx"
    path.write_bytes(b"".join(add_units(BytesIO(new_tmx("en")), units, "en", "de", path)))
    with ByteStream(path) as stream:
        assert list(parse_tmx(stream, "en", "de")) == [("good", "gut")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tmx", b"<tmx>", "not well-formed"),
        ("a.sqlite", b"no database, but long enough", "not an SQLite file"),
        ("a.xlsx", b"", "must be a .tmx or .sqlite"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        open_memory(tmp_path / name, "en", "de")


def test_a_database_of_others_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE precious (x)")
    before = path.read_bytes()
    with pytest.raises(UserError, match="not a translation memory"):
        add_to_memory(path, PAIRS, "en", "de")
    assert path.read_bytes() == before


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="hark memory add"):
        open_memory(tmp_path / "none.tmx", "en", "de")


def test_links_are_carried_over_to_a_corrected_translation() -> None:
    source, text, other = "the old red house", "das alte rote Haus", "das alte kleine rote Gebäude"
    links = [Link(*spans, 1.0) for spans in zip(word_spans(source), word_spans(text), strict=True)]
    carried = {other[slice(*each.target)]: source[slice(*each.source)] for each in carry_links(links, text, other)}
    assert carried == {"das": "the", "alte": "old", "rote": "red", "Gebäude": "house"}


def test_a_large_tmx_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_file, "CACHE_KIB", 1_000)
    path = tmp_path / "large.tmx"
    add_to_memory(path, ((f"text {number} {'x' * 1_000}", "y" * 1_000) for number in range(5_000)), "en", "de")
    assert path.stat().st_size > 10_000_000
    tracemalloc.start()
    try:
        found = open_memory(path, "en", "de")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
        assert add_to_memory(path, [("new", "neu")], "en", "de") == (1, 0)
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()
    assert found.exact(f"text 4999 {'x' * 1_000}") == "y" * 1_000
    assert open_memory(path, "en", "de").exact("new") == "neu"


fuzz = pytest.importorskip("rapidfuzz.fuzz", reason="rapidfuzz is in the extra documents")
WORDS = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in ("alo", "emir", "ipu", "orent", "usk", "aedi")]


def sentences(number: int, chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 14))) for _ in range(number)]


def best(text: str, texts: list[str]) -> float:
    found = max(fuzz.ratio(text, each) for each in texts) / 100
    return found if found >= MIN_SIMILARITY else 0.0


def test_the_same_is_found_as_by_comparing_all() -> None:
    chance = random.Random(1)
    texts = sentences(400, chance)
    index = SimilarTexts(texts)
    for text in chance.sample(texts, 40):
        words = text.split()
        words[chance.randrange(len(words))] = chance.choice(WORDS)
        edited = " ".join(words)
        found = index.find(edited)
        assert (found[1] if found else 0.0) == pytest.approx(best(edited, texts))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Colour", "Color"),
        ("Save file", "Save files"),
        ("今日はとても良い天気です", "今日はとても悪い天気です"),
        ("Delivery to Berlin", "Delivery to Bern"),
    ],
)
def test_short_texts_and_texts_without_spaces(text: str, other: str) -> None:
    index = SimilarTexts([other, *sentences(50, random.Random(2))])
    found = index.find(text)
    assert found is not None
    assert found[0] == other


def test_words_that_are_everywhere_do_not_hide_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_file, "MAX_POSTINGS", 20)
    monkeypatch.setattr(memory_file, "MAX_CANDIDATES", 3)
    texts = [f"the letter of the day is number {number} again" for number in range(200)]
    index = SimilarTexts([*texts, "the letter of the day is unusual again"])
    found = index.find("the letter of this day is unusual again")
    assert found is not None
    assert found[0] == "the letter of the day is unusual again"


@pytest.mark.parametrize("text", ["", " ", "...", "nothing like it"])
def test_nothing_is_similar(text: str) -> None:
    assert SimilarTexts(["Something else entirely."]).find(text) is None
    assert SimilarTexts([]).find(text) is None
