"""The lines of trust.toml, how outcomes are decided, and the whole benchmark with an untrained model."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.lines import DOMAINS, Line, Pair, read_lines  # type: ignore[import-not-found]  # type: ignore[import-not-found]
from benchmarks.trust import HERE, Verdict, Warnings, check_line, check_sentence, report

from benchmarks import trust
from tests.benchmarks.test_domains import make_pairs, write
from tests.translate.bundles import make_bundle


def test_the_lines_of_both_directions() -> None:
    there, back = (read_lines(HERE / "trust.toml", pair) for pair in ("en-de", "de-en"))
    assert there.keys() == back.keys()
    for pair, lines in (("en-de", there), ("de-en", back)):
        every = [line for of_kind in lines.values() for line in of_kind]
        others = [line.text for of_kind in read_lines(HERE / "everyday.toml", pair).values() for line in of_kind]
        assert len(every) >= 110
        assert len({line.text for line in every} | {*others}) == len(every) + len(others)
        for line in every:
            assert line.same != bool(line.good), line
            good = line.text if line.same else line.good
            assert line.wrong(good, good) == "", line
            assert line.wrong("", good), line
            assert line.text == good or line.wrong(line.text, good), line  # untranslated text is wrong
            assert all(kept in line.text for kept in line.keeps), line
            assert not line.starts or all(each.startswith(line.starts) for each in line.text.split("\n")), line
            assert not line.columns or max(map(len, line.text.split("\n"))) <= line.columns, line


def result(text: str, *flags: str) -> SimpleNamespace:
    return SimpleNamespace(text=text, flags=flags, doubtful=tuple(flag for flag in flags if flag == "changed"))


@pytest.mark.parametrize(
    ("flagged", "answer", "flags", "outcome", "false_alarm"),
    [
        ("", "Haus", (), "held", False),
        ("", "Haus", ("retried",), "held", False),
        ("", "Haus", ("changed",), "held", True),
        ("", "Maus", ("changed",), "flagged", False),
        ("", "house", ("untranslated",), "flagged", False),
        ("", "Maus", ("retried",), "silent", False),
        ("may", "Haus", ("changed",), "held", False),
        ("may", "Haus", (), "held", False),
        ("must", "Haus", ("changed",), "held", False),
        ("must", "Maus", ("changed",), "flagged", False),
        ("must", "Haus", (), "silent", False),
    ],
)
def test_the_outcome_of_a_line(
    flagged: str, answer: str, flags: tuple[str, ...], outcome: str, false_alarm: bool
) -> None:
    line = Line("house", has=("haus",), flagged=flagged)
    judged = check_line("trust.toml", "words", line, result(answer, *flags), "")
    assert (judged.outcome, judged.false_alarm) == (outcome, false_alarm)
    assert bool(judged.wrong) == (outcome != "held")


@pytest.mark.parametrize(
    ("answer", "flags", "outcome", "false_alarm"),
    [
        ("Das Haus ist sehr rot.", (), "held", False),
        ("Das Haus ist sehr rot.", ("changed",), "held", True),
        ("Wir stimmen ab.", ("changed",), "flagged", False),
        ("Wir stimmen ab.", (), "silent", False),
    ],
)
def test_the_outcome_of_a_sentence(answer: str, flags: tuple[str, ...], outcome: str, false_alarm: bool) -> None:
    pair = Pair("docs", "The house is red.", "Das Haus ist rot.")
    judged = check_sentence("dev", pair, "en", "de", result(answer, *flags), 35.0)
    assert (judged.text, judged.reference) == (pair.english, pair.german)
    assert (judged.outcome, judged.false_alarm) == (outcome, false_alarm)


def judged(outcome: str, false_alarm: bool = False) -> Verdict:
    return Verdict("dev", "docs", "text", "answer", (), outcome, false_alarm, "")


def test_precision_and_recall() -> None:
    found = [judged("flagged")] * 3 + [judged("silent")] + [judged("held", True)] * 2 + [judged("held")] * 8
    about = Warnings.of(found)
    assert (about.precision, about.recall, about.alarm_rate) == (3 / 5, 3 / 4, 2 / 10)
    none = Warnings.of([judged("silent")])
    assert (none.precision, none.recall, none.alarm_rate) == (None, 0.0, None)


def test_the_report_lists_lines_that_are_silently_wrong() -> None:
    found = [
        Verdict("trust.toml", "no_stop", "so\nwhat", "na", (), "silent", False, "has changed"),
        Verdict("everyday.toml", "words", "house", "Maus", ("changed",), "flagged", False, "has none of haus"),
        Verdict("dev", "docs", "a", "b", (), "silent", False, "chrF2 12", "c", 12.0),
        Verdict("dev", "docs", "d", "e", ("changed",), "held", True, "", "f", 70.0),
    ]
    printed = report("small", found, 35.0)
    silent = printed[printed.index("small: silently wrong lines") + 1 :]
    assert silent == ["  no_stop: so\n    what -> na   (has changed)", ""]
    (row,) = (line.split() for line in printed if line.startswith("  no stop"))
    assert row == ["no", "stop", "1", "0", "0.0%", "0", "0.0%", "1", "100.0%", "0"]
    assert not any("phrase table" in line for line in printed)
    bands = "0 to 20: 0 of 1; 20 to 35: 0 of 0; 35 to 50: 0 of 0; 50 to 65: 0 of 0; 65 to 100: 1 of 1"
    assert f"  warnings by chrF2: {bands}" in printed


def test_the_report_shows_what_the_phrase_table_hides() -> None:
    found = [
        Verdict("trust.toml", "phrases", "Kind regards", "Viele Grüße", ("phrase",), "held", False, ""),
        Verdict("trust.toml", "phrases", "Kind regards", "Freundlich", (), "silent", False, "lost", phrases=False),
        Verdict("trust.toml", "phrases", "house", "Maus", (), "silent", False, "has none of haus"),
        Verdict("trust.toml", "phrases", "house", "Maus", (), "silent", False, "has none of haus", phrases=False),
    ]
    printed = report("small", found, 35.0)
    title = printed.index("small: the same without the phrase table, which has a part in 1")
    assert printed[title + 2].split() == ["all", "2", "0", "0.0%", "0", "0.0%", "2", "100.0%", "0"]
    (row,) = (line.split() for line in printed if line.startswith("  phrases  "))
    assert row[1:3] == ["2", "1"]
    assert printed[printed.index("small: silently wrong lines") + 1 :] == [
        "  phrases: house -> Maus   (has none of haus)",
        "  phrases: Kind regards -> Freundlich   (lost; without the phrase table)",
        "",
    ]


def test_measuring_an_untrained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    for number, domain in enumerate(DOMAINS):
        write(tmp_path / "data", f"{domain}.test", make_pairs(12, seed=number))
    few = '[en-de]\nwords = [{ text = "Kind regards", has = ["grüßen"] }, { text = "42", same = true }]\n'
    for part in trust.PARTS:
        (tmp_path / part).write_text(few, encoding="utf-8")
    monkeypatch.setattr(trust, "HERE", tmp_path)
    monkeypatch.setattr(trust, "SENTENCES", len(DOMAINS))
    model, file = make_bundle(tmp_path / "small"), tmp_path / "all.json"
    monkeypatch.setattr(sys, "argv", ["trust", str(model), "--data", str(tmp_path / "data"), "--json", str(file)])
    trust.main()
    printed = capsys.readouterr().out
    assert "small: 10 sentences of draw test, wrong below chrF2 35" in printed
    (found,) = json.loads(file.read_text(encoding="utf-8"))["models"].values()
    assert [each["part"] for each in found] == ["trust.toml"] * 4 + ["everyday.toml"] * 4 + ["test"] * 10
    assert [each["outcome"] for each in found[:8] if each["text"] == "42"] == ["held"] * 4
    assert ["phrase" in each["flags"] for each in found[:8] if each["text"] != "42"] == [True, False] * 2
    assert [each["phrases"] for each in found] == [True, False] * 4 + [True] * 10

    monkeypatch.setattr(sys, "argv", ["trust", str(model), "--data", str(tmp_path / "none")])
    trust.main()
    assert "skipping the sentences from domains: no such folder" in capsys.readouterr().out
