"""Each pair of languages draws lines of its own, line by line the same; domains are joined by their English."""

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
    """The tool's output for 40 lines in seven languages, and three languages with one domain each in common."""
    monkeypatch.setattr(pair_languages, "WITH_ENGLISH", 20)
    monkeypatch.setattr(pair_languages, "WITHOUT_ENGLISH", 10)
    for language in LANGUAGES:
        write(tmp_path / f"multiway/train.{language}", [f"{language} {row}" for row in range(40)])
    for language, shared in (("de", ("Save", "Open")), ("fr", ("Open", "Quit")), ("es", ("Save", "Open"))):
        for domain in pair_languages.DOMAINS:
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


def test_lines_with_the_same_english_become_pairs_once(text: Path) -> None:
    assert (text / "joined.de-fr.de").read_text() == "de Open\n"
    assert (text / "joined.de-fr.fr").read_text() == "fr Open\n"
    assert (text / "joined.de-es.es").read_text() == "es Save\nes Open\n"
