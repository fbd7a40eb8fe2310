"""The benchmark of the rules: what counts as a false change."""

import lzma
import sys
from pathlib import Path

import pytest
from benchmarks.rules import Found, Touch, main, sort, touch_all

from hark.text.phrases import Phrases


@pytest.mark.parametrize(
    ("typed", "written", "reference", "where"),
    [
        ("7.4%", "7,4 %", "Es stieg um 7,4\u202f%.", "agrees"),
        ("3.10", "3,10", "Python 3.10 ist da.", "false"),
        ("3.1", "3,1", "Python 3.10 ist da.", "other"),
        ("2:30", "2:30 Uhr", "Ich bin um 2:30 da.", "other"),
        ("$5", "5 $", "Es kostet fünf Dollar.", "other"),
    ],
)
def test_a_false_change_is_one_that_the_translator_did_not_make(
    typed: str, written: str, reference: str, where: str
) -> None:
    found = Found()
    sort(found, Touch("", reference, typed, written))
    assert {name: len(getattr(found, name)) for name in ("agrees", "other", "false")} == {
        name: name == where for name in ("agrees", "other", "false")
    }


def test_each_change_is_counted_for_its_rule() -> None:
    pairs = [
        ("It rose by 7.4% at half past three.", "Um halb vier stieg es um 7,4 %."),
        ("dont do that", "Mach das nicht"),
        ("Hello", "Hallo"),
        ("Nothing to see here.", "Hier gibt es nichts zu sehen."),
    ]
    found = touch_all(pairs, "en-de", Phrases([{"Hello": "Hallo"}]))
    assert {rule: len(each.all) for rule, each in found.items() if each.all} == {
        "quantities": 1,
        "spoken times": 1,
        "typing": 1,
        "phrases": 1,
    }
    assert not any(each.false for each in found.values())


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tatoeba-en-de").mkdir()
    (tmp_path / "github").mkdir()
    for side, text in (("en", "It weighs 1.5 kg.\n"), ("de", "Es wiegt 1.5 kg.\n")):
        (tmp_path / "tatoeba-en-de" / f"test.{side}.xz").write_bytes(lzma.compress(text.encode()))
    (tmp_path / "github" / "docs.en-de.tsv.xz").write_bytes(lzma.compress(b"Up 7.4%\tPlus 7,4 %\n"))
    monkeypatch.setattr(sys, "argv", ["rules", "--data", str(tmp_path)])
    main()
    printed = capsys.readouterr().out
    assert "1.5 kg -> 1,5 kg" in printed
    assert printed.count("of 1 lines") == 2 * 2 * 7
