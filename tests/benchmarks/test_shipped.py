"""The table of shipped models, with untrained models instead."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.lines import Line

from hark.evaluate.held_out import HeldOutSet
from tests.translate.bundles import make_bundle


def test_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import shipped

    make_bundle(tmp_path / "models" / "de-en", "de", "en")
    make_bundle(tmp_path / "models" / "en-de")
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path / "models")
    monkeypatch.setattr(shipped, "sample_set", lambda _: HeldOutSet("two", ("a dog", "a house"), ("ein Hund", "b")))
    read_all = shipped.read_lines

    def read_few(path: Path, pair: str) -> dict[str, list[Line]]:
        return {kind: lines[:2] for kind, lines in read_all(path, pair).items()}

    monkeypatch.setattr(shipped, "read_lines", read_few)
    monkeypatch.setattr(shipped, "STARTS", 1)
    monkeypatch.setattr(sys, "argv", ["shipped.py", "--json", str(tmp_path / "out.json")])
    shipped.main()
    found = json.loads((tmp_path / "out.json").read_text())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["de-en"] * 2, ["en-de"] * 2]
    for line, each in zip(lines[1:3], found, strict=True):
        assert f" {each['bleu']:.1f} " in line
        assert f"{each['lines'] - len(each['failures'])} of {each['lines']}" in line
        assert each["start_seconds"] > 0
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path / "nowhere")
    with pytest.raises(SystemExit, match="no models in"):
        shipped.main()
