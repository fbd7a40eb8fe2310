"""The examples run as they are written, in small."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


def test_reverse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import reverse

    monkeypatch.setattr(reverse, "STEPS", 12)
    monkeypatch.setattr(reverse, "WORDS", 8)
    reverse.main()
    printed = capsys.readouterr().out
    assert "of 200 fresh random words came out right" in printed
    assert "      a  t  t  e  n  t  i  o  n  ·" in printed
    assert reverse.tokens("az") == [2, 27]
    assert reverse.text([0, *reverse.tokens("hark"), 1]) == "hark"
