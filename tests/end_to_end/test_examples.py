"""The examples run, at a small size."""

import pytest
from examples import reverse


def test_reverse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reverse, "STEPS", 12)
    monkeypatch.setattr(reverse, "WORDS", 8)
    monkeypatch.setattr(reverse, "TESTED", 5)
    reverse.main()
    printed = capsys.readouterr().out
    assert "of 5 new random words reversed correctly" in printed
    assert "      a  t  t  e  n  t  i  o  n  ·" in printed
    assert reverse.tokens("az") == [2, 27]
    assert reverse.text([0, *reverse.tokens("hark"), 1]) == "hark"
