"""Lines without a translation: from every corpus that has the language, none known already, none of a test set."""

from pathlib import Path

import pytest
from tools.collect_lines import MORE_SENTENCES, OTHERS, TABLES, collect_lines
from tools.held_out_text import MEASURED_TABLE

from tests.tools.test_cut_domains import SETS, write, write_sides, write_table


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for name in SETS:
        write_sides(folder / name, [(f"Test of {name}.", f"Prüfung von {name}.")])
    write_table(folder / MEASURED_TABLE.format("de"), [("A measured line.", "Eine gemessene Zeile.")])
    for name in TABLES:
        for other in OTHERS:
            write_table(folder / f"{name}.en-{other}.tsv.xz", [(f"A line of {name}.", "x")])
    for name in MORE_SENTENCES:
        write(folder / name, "He sings.\nA measured line!\n")
    return folder


def read(folder: Path, language: str) -> list[str]:
    return sorted((folder / f"everyday.{language}").read_text(encoding="utf-8").splitlines())


def test_new_lines_of_each_language_are_collected_once(data: Path, tmp_path: Path) -> None:
    write_table(
        data / "tatoeba-seven/de-fr.tsv.xz", [("Er singt.", "x"), ("ER SINGT", "x"), ("Sie geht.", "x"), ("ja", "x")]
    )
    write_table(
        data / "tatoeba-seven/en-pt.tsv.xz", [("He sings.", "x"), ("She left.", "x"), ("Seen in training.", "x")]
    )
    write_table(data / "tatoeba-seven/de-es.test.tsv.xz", [("Sie geht!", "x")])
    write_table(data / "tatoeba-seven/fr-it.tsv.xz", [("Il chante.", "Canta.")])
    domains = tmp_path / "domains"
    domains.mkdir()
    (domains / "docs.train.en").write_text("seen in training\n")
    (domains / "docs.test.en").write_text("She left\n")
    counts = collect_lines(data, domains, seed=1)
    assert read(domains, "de") == ["Er singt."]
    assert read(domains, "en") == sorted(["He sings.", *(f"A line of {name}." for name in TABLES)])
    assert counts == {"en": 1 + len(TABLES), "de": 1}
