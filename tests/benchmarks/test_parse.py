"""The parsing benchmark passes its arguments on."""

import lzma
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import parse
from hark.text.trees import format_tree
from tests.parse.parsers import treebank


def test_the_treebank_is_cut_and_settings_are_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(map(format_tree, treebank()))
    for part in ("train", "dev", "test"):
        (tmp_path / f"gum-{part}.trees.xz").write_bytes(lzma.compress(text.encode()))
    asked = []

    def run_parsing(*arguments: object) -> SimpleNamespace:
        asked.extend(arguments)
        return SimpleNamespace(table=lambda: "the table", by_length=[], to_tree=dict)

    monkeypatch.setattr(parse, "run_parsing", run_parsing)
    parse.main(["gum", "--data", str(tmp_path), "-o", "out", "--trees", "10", "train.steps=3", "train.seed=2"])
    bank, *rest = asked
    assert (bank.name, len(bank.train), len(bank.test)) == ("gum", 10, 2)
    assert rest[:4] == [Path("out"), "parse", ["train.steps=3", "train.seed=2"], "auto"]
    assert "the table" in capsys.readouterr().out
