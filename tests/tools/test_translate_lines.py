"""Lines that the teacher translates become pairs; what it doubts, repeats or leaves empty is dropped."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.translate.bundles import make_bundle
from tools import translate_lines as tool


@dataclass
class Answer:
    text: str
    doubtful: tuple[str, ...] = ()


ANSWERS = {
    "one": Answer("eins"),
    "two": Answer("zwei", ("loop",)),
    "ok": Answer("ok"),
    "three": Answer(" "),
    "four": Answer("vier \n "),
}


class Teacher:
    """Answers from a table."""

    def translate(self, lines, **options):
        assert options == {"split": False, "protect": False, "check": False}
        return (ANSWERS[line] for line in lines)


def test_only_good_translations_are_kept():
    assert list(tool.translate_lines(Teacher(), ANSWERS)) == [
        ("one", "eins"),
        None,
        None,
        None,
        ("four", "vier"),
    ]


def test_a_real_model_writes_aligned_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"a b c {number}" for number in range(7)]
    (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
    bundle = make_bundle(tmp_path / "teacher", "en", "de")
    monkeypatch.setattr(sys, "argv", ["tool", str(bundle), str(tmp_path / "lines"), "-o", str(tmp_path / "out")])
    tool.main()
    sources, targets = ((tmp_path / f"out.{language}").read_text().splitlines() for language in ("en", "de"))
    assert len(sources) == len(targets)
    assert set(sources) <= set(lines)
    assert f"out.de: {len(sources)} of 7 lines\n" in capsys.readouterr().out
    assert not list(tmp_path.glob(".*partial"))


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tool", "en-de", str(tmp_path / "none"), "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match=r"none: No such file"):
        tool.main()
