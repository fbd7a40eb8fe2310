"""Each pair of languages draws lines of its own, line by line the same; domains are joined by their English."""

import lzma
import sys
from itertools import combinations
from pathlib import Path

import pytest
from tools.pair_languages import LANGUAGES, main

from tools import pair_languages


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tool's output for 40 lines in seven languages, and six languages that share text of programs."""
    monkeypatch.setattr(pair_languages, "WITH_ENGLISH", 20)
    monkeypatch.setattr(pair_languages, "WITHOUT_ENGLISH", 10)
    monkeypatch.setattr(pair_languages, "MOST_JOINED", 2)
    (tmp_path / "multiway").mkdir()
    for language in LANGUAGES:
        text = "".join(f"{language} {row}\n" for row in range(40))
        (tmp_path / f"multiway/train.{language}.xz").write_bytes(lzma.compress(text.encode()))
    for language, domain, shared in (
        ("de", "strings", ("Save", "Open")),
        ("fr", "catalogues", ("Open", "Quit")),
        ("es", "catalogues", ("Save", "Open")),
        ("it", "catalogues", ("Save", "Open", "Print", "Quit")),
        ("nl", "catalogues", ("Print", "Quit", "Save")),
        ("pt", "prose", ("Once",)),
    ):
        stem = tmp_path / f"domains-en-{language}/{domain}.train"
        write(Path(f"{stem}.en"), list(shared))
        write(Path(f"{stem}.{language}"), [f"{language} {word}" for word in shared])
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "multiway"), str(tmp_path), "-o", str(tmp_path / "pairs")])
    main()
    return tmp_path / "pairs"


def rows(text: Path, pair: tuple[str, str], language: str) -> list[str]:
    lines = (text / f"europarl.{'-'.join(pair)}.{language}").read_text().splitlines()
    assert all(line.startswith(f"{language} ") for line in lines)
    return [line.split()[1] for line in lines]


def test_both_sides_have_the_same_rows_and_pairs_have_different_ones(text: Path) -> None:
    drawn = {}
    for pair in combinations(LANGUAGES, 2):
        one, other = (rows(text, pair, language) for language in pair)
        assert one == other
        assert len(one) == len(set(one)) == (20 if "en" in pair and "de" not in pair else 10)
        drawn[pair] = tuple(one)
    assert len(set(drawn.values())) == 21


def joined(text: Path, pair: str) -> set[tuple[str, ...]]:
    sides = [(text / f"joined.{pair}.{language}").read_text().splitlines() for language in pair.split("-")]
    return set(zip(*sides, strict=True))


def test_lines_with_the_same_english_become_pairs_in_whatever_domain_they_are(text: Path) -> None:
    assert joined(text, "de-fr") == {("de Open", "fr Open")}
    assert joined(text, "de-es") == {("de Save", "es Save"), ("de Open", "es Open")}
    assert joined(text, "de-pt") == set()


def test_a_pair_with_many_such_lines_gets_a_sample(text: Path) -> None:
    found = joined(text, "it-nl")
    assert len(found) == 2
    assert found < {(f"it {word}", f"nl {word}") for word in ("Save", "Print", "Quit")}


def test_missing_text_is_one_line(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = text.parent
    for multiway, domains, message in (
        (folder / "nowhere", folder, "nowhere/train.en.xz: no such file"),
        (folder / "multiway", text, "domains-en-de: no text; tools.cut_domains makes it"),
    ):
        monkeypatch.setattr(sys, "argv", ["", str(multiway), str(domains), "-o", str(folder / "other")])
        with pytest.raises(SystemExit, match=message):
            main()
        assert not (folder / "other").exists()
