"""The settings of the benchmark exist and fit together; what it runs takes minutes, and `--tiny` half of one."""

import lzma
from pathlib import Path

import pytest
from benchmarks.pretraining import FULL, KINDS, SHAPE, TINY, Scale, cut, settings

from hark import configfile


@pytest.mark.parametrize("scale", [FULL, TINY])
@pytest.mark.parametrize("kind", list(KINDS))
def test_settings_are_those_of_hark(scale: Scale, kind: str) -> None:
    corrupted = {"batches.corrupted": kind, "batches.masked": KINDS[kind]}
    pretraining = configfile.load(None, settings(SHAPE, scale.model, scale.pretraining, corrupted))
    translating = configfile.load(None, settings(SHAPE, scale.model, scale.translating))
    assert pretraining.model == translating.model
    assert pretraining.batches.max_length == translating.batches.max_length


def test_later_settings_replace_earlier_ones() -> None:
    assert sorted(settings({"a": 1, "b": 2}, {"a": 3})) == ["a=3", "b=2"]


def test_pairs_are_spread_over_the_text(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "text.xz", "wt") as file:
        file.write("".join(f"{number}\n" for number in range(10)))
    assert cut(tmp_path / "text.xz", 3, tmp_path / "few", 3).read_text() == "0\n3\n6\n"
    assert cut(tmp_path / "text.xz", None, tmp_path / "all").read_text().count("\n") == 10
    assert cut(tmp_path / "text.xz", 1, tmp_path / "few", 1).read_text() == "0\n3\n6\n"  # as it was written
