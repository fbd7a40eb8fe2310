"""Dev and test sets are cut in blocks, by the seed; no training pair equals or nearly equals one of theirs."""

import json
import lzma
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hark.data.held_out import essence
from tests.modules import run_module

TOOL = "tools.cut_domains"
DOMAINS = ("examples", "medical", "books", "prose", "games", "manuals", "docs", "descriptions", "strings", "catalogues")
DEBIAN = ("dictionary-examples", "manuals", "descriptions", "catalogues")
GITHUB = ("medical", "books", "prose", "games", "docs", "strings")
SETS = (
    "europarl-en-de/dev", "europarl-en-de/test", "europarl-seven/dev", "europarl-seven/test", "tatoeba-en-de/test",
    "news/newstest2013", "news/newstest2014", "alignment-de-en/test.uc", "multi30k/train", "multi30k/val",
    "multi30k/test_2016_flickr", "multi30k/test_2017_flickr", "multi30k/test_2017_mscoco",
)  # fmt: skip
SIZES = ("--dev", "5", "--test", "10", "--block", "4")

Pair = tuple[str, str]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))


def write_table(path: Path, rows: Sequence[Sequence[str]]) -> None:
    write(path, "".join("\t".join(row) + "\n" for row in rows))


def write_sides(stem: Path, pairs: Sequence[Pair], other: str = "de") -> None:
    for side, language in enumerate(("en", other)):
        write(Path(f"{stem}.{language}.xz"), "".join(pair[side] + "\n" for pair in pairs))


def sentences(name: str, number: int) -> list[Pair]:
    """Pairs of random words, so that no two are alike."""
    chance = random.Random(name)

    def word() -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7))

    return [
        (f"The {word()} and the {word()} see the {word()}.", f"Der {word()} und der {word()} sehen {word()}.")
        for _ in range(number)
    ]


def read(folder: Path, name: str, other: str = "de") -> list[Pair]:
    sides = ((folder / f"{name}.{language}").read_text().splitlines() for language in ("en", other))
    return list(zip(*sides, strict=True))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small copy of the folder of text."""
    folder = tmp_path / "data"
    for origin, names in (("debian", DEBIAN), ("github", GITHUB)):
        for name in names:
            write_table(folder / origin / f"{name}.en-de.tsv.xz", sentences(name, 80))
    write_table(folder / "github/names.en-de.tsv.xz", [("Fen", "Niedermoor")])
    write_table(folder / "debian/dictionary.en-de.tsv.xz", [("haunch of lamb", "Lammkeule", "cook.")])
    for stem in SETS:
        write_sides(folder / stem, sentences(stem, 3))
    write_table(folder / "tatoeba-seven/en-de.test.tsv.xz", sentences("seven", 3))
    write_sides(folder / "tatoeba-en-de/train", sentences("tatoeba", 60))
    write_sides(folder / "europarl-en-de/train", sentences("europarl", 60))
    return folder


def cut(data: Path, folder: Path, *words: str) -> dict[str, dict[str, int]]:
    done = run_module(TOOL, data, "-o", folder, *SIZES, *words)
    assert (done.returncode, done.stderr) == (0, "")
    counts: dict[str, dict[str, int]] = json.loads((folder / "counts.json").read_text())["pairs"]
    return counts


def add(path: Path, rows: Sequence[Sequence[str]]) -> None:
    before = lzma.decompress(path.read_bytes()).decode()
    write(path, before + "".join("\t".join(row) + "\n" for row in rows))


def test_every_domain_has_its_sets_in_blocks(data: Path, tmp_path: Path) -> None:
    counts = cut(data, tmp_path / "text")
    for name in DOMAINS:
        dev, test, train = (read(tmp_path / "text", f"{name}.{use}") for use in ("dev", "test", "train"))
        assert (len(dev), len(test)) == (5, 10)
        all_pairs = sentences("dictionary-examples" if name == "examples" else name, 80)
        lines = sorted(all_pairs.index(pair) for pair in test)
        assert len({line // 4 for line in lines}) == 3  # ten lines of blocks of four
        assert not set(train) & {*dev, *test}
        assert set(train) <= set(all_pairs)
        assert counts[name]["read"] == 80
        assert len(train) == counts[name]["train"] == 80 - counts[name]["cut"]
    assert len(read(tmp_path / "text", "domains.dev")) == 5 * len(DOMAINS)
    assert len(read(tmp_path / "text", "tatoeba.dev")) == 5
    assert not (tmp_path / "text/tatoeba.test.en").exists()  # it has one


def test_the_seed_decides(data: Path, tmp_path: Path) -> None:
    for folder, seed in (("one", "1"), ("again", "1"), ("other", "2")):
        cut(data, tmp_path / folder, "--seed", seed)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    assert read(tmp_path / "one", "docs.test") != read(tmp_path / "other", "docs.test")


def test_what_is_measured_on_is_not_trained_on(data: Path, tmp_path: Path) -> None:
    cut(data, tmp_path / "before")
    (en, de), *_ = read(tmp_path / "before", "docs.test")
    news = sentences("news/newstest2014", 1)[0]
    everyday = "Where is the nearest train station?"  # in benchmarks/everyday.toml
    leaks = [
        (en.upper().replace(".", " 12!"), "Etwas ganz anderes steht hier."),
        ("Something else stands here.", de.lower().rstrip(".")),
        (news[0], "Eine Übersetzung der Nachricht."),
        (everyday, "Wo ist der nächste Bahnhof?"),
    ]
    kept = ("Where is it?", "Wo ist das denn nur?")
    write_sides(data / "europarl-en-de/train", [*sentences("europarl", 60), leaks[0]])
    write_sides(data / "tatoeba-en-de/train", [*sentences("tatoeba", 60), leaks[3]])
    add(data / "github/names.en-de.tsv.xz", [leaks[1], leaks[2], kept])
    counts = cut(data, tmp_path / "after")
    assert (en, de) in read(tmp_path / "after", "docs.test")
    trained = {
        essence(text)
        for name in ("europarl", "tatoeba", "names")
        for pair in read(tmp_path / "after", f"{name}.train")
        for text in pair
    }
    for leak in leaks:
        assert not trained & {essence(leak[0])}
    assert essence(kept[0]) in trained
    assert [counts[name]["equal"] for name in ("europarl", "names")] == [1, 2]


def test_nearly_equal_lines_of_another_corpus_go(data: Path, tmp_path: Path) -> None:
    cut(data, tmp_path / "before")
    (en, _), *_ = read(tmp_path / "before", "docs.test")
    near = (f"{en} Again.", "Noch etwas, das nirgends sonst steht.")
    far = (f"{' '.join(en.split()[:3])} is something that we have not seen.", "Und dies steht auch nirgends sonst.")
    # In place of lines that are in no set, so that the sets stay as they were.
    rows = [
        line.split("\t")
        for line in lzma.decompress((data / "debian/catalogues.en-de.tsv.xz").read_bytes()).decode().splitlines()
    ]
    held = {pair for use in ("dev", "test") for pair in read(tmp_path / "before", f"catalogues.{use}")}
    free = [
        line
        for line in range(80)
        if not any(tuple(rows[at]) in held for at in range(line - line % 4, line - line % 4 + 4))
    ]
    rows[free[0]], rows[free[1]] = list(near), list(far)
    write_table(data / "debian/catalogues.en-de.tsv.xz", rows)
    counts = cut(data, tmp_path / "after")
    train = read(tmp_path / "after", "catalogues.train")
    assert near not in train
    assert far in train
    assert counts["catalogues"]["nearly equal"] == 1


def test_repeats_across_corpora_stay_in_the_first(data: Path, tmp_path: Path) -> None:
    write_table(
        data / "github/names.en-de.tsv.xz",
        [("Fen", "Niedermoor"), ("fen!", "Niedermoor"), ("Haunch of Lamb", "Lammkeule")],
    )
    counts = cut(data, tmp_path / "text")
    assert read(tmp_path / "text", "names.train") == [("Fen", "Niedermoor"), ("Haunch of Lamb", "Lammkeule")]
    assert read(tmp_path / "text", "dictionary.train") == []
    assert (counts["names"]["repeated"], counts["dictionary"]["repeated"]) == (1, 1)


def test_a_dictionary_gives_words_without_notation(data: Path, tmp_path: Path) -> None:
    good = [("to lose face", "das Gesicht verlieren", "anat."), ("double room", "Doppelzimmer", "")]
    many = [("take", each, "") for each in ("Fang", "Aufnahme", "Einstellung", "Ansicht")]  # of too many senses
    bad = [
        ("to give sth. away", "etw. verraten", ""),
        ("room [Br.]", "Zimmer", ""),
        ("to be at the end of one’s tether", "am Ende seiner Kräfte sein", ""),
        ("saying", "sagend", ""),
        ("reed warbler", "Teichrohrsänger", "ornith."),
        ("4-stroke", "Viertakt", ""),
    ]
    write_table(data / "debian/dictionary.en-de.tsv.xz", [*good, *many, *bad])
    counts = cut(data, tmp_path / "text")
    assert read(tmp_path / "text", "dictionary.train") == [row[:2] for row in good]
    assert counts["dictionary"]["unsuited"] == len(many) + len(bad)


def test_a_corpus_that_is_too_small_is_refused(data: Path, tmp_path: Path) -> None:
    write_table(data / "github/books.en-de.tsv.xz", sentences("books", 12))
    done = run_module(TOOL, data, "-o", tmp_path / "text", *SIZES)
    assert done.returncode == 1
    assert done.stderr == "books: 12 pairs are too few for dev and test sets\n"


def test_another_language_is_cut_where_it_has_enough_text(data: Path, tmp_path: Path) -> None:
    measured = sentences("europarl-seven/test", 3)
    for stem in ("europarl-seven/dev", "europarl-seven/test"):
        write_sides(data / stem, measured, "es")
    write_table(data / "tatoeba-seven/en-es.test.tsv.xz", sentences("seven", 3))
    prose = [
        (en, de.replace("Der", "El").replace("und der", "y el").replace("sehen", "ven que no hay"))
        for en, de in sentences("prose", 80)
    ]
    write_table(data / "github/prose.en-es.tsv.xz", [*prose, measured[0]])
    write_table(data / "github/medical.en-es.tsv.xz", sentences("medical", 20))
    write_table(data / "github/names.en-es.tsv.xz", [("Fen", "Turbera")])
    write_table(data / "debian/dictionary.en-es.tsv.xz", [("leg of lamb", "pierna de cordero", "")])
    counts = cut(data, tmp_path / "text", "--to", "es")
    dev, test, train = (read(tmp_path / "text", f"prose.{use}", "es") for use in ("dev", "test", "train"))
    assert (len(dev), len(test)) == (5, 10)
    assert not set(train) & {*dev, *test, measured[0]}
    assert set(read(tmp_path / "text", "domains.dev", "es")) == set(dev)
    assert len(read(tmp_path / "text", "medical.train", "es")) == counts["medical"]["train"] == 20  # too few to cut
    assert not list((tmp_path / "text").glob("medical.test.*"))
    assert {"tatoeba", "europarl"}.isdisjoint(counts)


def test_a_language_may_have_text_of_programs_only(data: Path, tmp_path: Path) -> None:
    """No dictionary, no names."""
    for stem in ("europarl-seven/dev", "europarl-seven/test"):
        write_sides(data / stem, sentences("europarl-seven/test", 3), "it")
    write_table(data / "tatoeba-seven/en-it.test.tsv.xz", sentences("seven", 3))
    messages = [(en, de.replace("Der", "Il").replace("und der", "e il")) for en, de in sentences("catalogues", 80)]
    write_table(data / "debian/catalogues.en-it.tsv.xz", messages)
    counts = cut(data, tmp_path / "text", "--to", "it")
    assert set(counts) == {"catalogues"}
    sets = [read(tmp_path / "text", f"catalogues.{use}", "it") for use in ("dev", "test", "train")]
    assert [len(each) for each in sets[:2]] == [5, 10]
    assert not set(sets[2]) & {*sets[0], *sets[1]}
