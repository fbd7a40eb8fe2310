"""The count of source languages that are found, on a few sentences."""

import lzma
import sys
from pathlib import Path

import pytest


def test_one_row_for_each_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import source_language

    pairs = {
        "de": "Where is the station?\tWo ist der Bahnhof?\n",
        "fr": "Where is the station?\tOù est la gare ?\n",
    }
    for code, lines in pairs.items():
        (tmp_path / f"en-{code}.test.tsv.xz").write_bytes(lzma.compress(lines.encode()))
    monkeypatch.setattr(source_language, "LANGUAGES", ("en", "de", "fr"))
    monkeypatch.setattr("hark.decode.load.Loaded", lambda _: None)  # no model is needed for these sentences
    monkeypatch.setattr(sys, "argv", ["source_language.py", str(tmp_path)])
    source_language.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [[code, "1", "1", "1", "0", "1", "0"] for code in ("en", "de", "fr")]
