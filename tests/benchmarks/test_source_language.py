"""The count of source languages that are found, on a few sentences."""

import lzma
import sys
from pathlib import Path

import pytest

from hark.translate.source_language import no_answer


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
    lines = tmp_path / "lines.toml"
    lines.write_text('[known]\nen = ["Hello", "House"]\n[unknown]\npl = ["Dziękuję", "Hotel"]\n', encoding="utf-8")
    monkeypatch.setattr(source_language, "LANGUAGES", ("en", "de", "fr"))
    monkeypatch.setattr(source_language, "TARGETS", ("en", "de"))
    monkeypatch.setattr(source_language, "LINES", lines)
    monkeypatch.setattr(source_language, "LoadedModels", lambda: no_answer)
    monkeypatch.setattr(sys, "argv", ["source_language.py", str(tmp_path)])
    source_language.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if "into" not in row] == [
        ["en", "en", "1", "1", "1", "0", "0"],
        ["en", "de", "1", "1", "1", "0", "0", "0"],
        ["de", "en", "1", "1", "1", "0", "0", "0"],
        ["de", "de", "1", "1", "1", "0", "0"],
        ["fr", "en", "1", "1", "1", "0", "0", "0"],
        ["fr", "de", "1", "1", "1", "0", "0", "0"],
        ["en", "en", "2", "2", "2", "0", "0"],
        ["en", "de", "2", "2", "2", "0", "0", "0"],
        ["pl", "en", "2", "1", "1", "1", "1"],
        ["pl", "de", "2", "1", "1", "1", "1"],
    ]
