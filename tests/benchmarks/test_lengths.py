"""Time and memory by length: the batches, the table, the plot, and the whole command at a tiny size."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import torch
from benchmarks.lengths import Point, cost_of_a_token, draw, packed_tensors

from hark.data.batches import PackedStream
from hark.model import packed_layout
from tests.benchmarks.conftest import run_benchmark
from tests.model.oracle import build

POINTS = [
    Point("flash", series, length, 1, ms=10 + length / 100, gib=0.5 + length / 2**10)
    for series in ("batch", "one")
    for length in (64, 256, 1024)
]
FAILED = Point("torch", "one", 1024, 1, failure="out of memory")


def test_packed_sequences_are_independent() -> None:
    """Three sequences in a batch give the same loss as each alone: lengths and positions are right."""
    model = build(vocab_size=400)
    batch = packed_tensors(8, 3, 400, torch.device("cpu"))

    def logits(source: PackedStream[torch.Tensor], target: PackedStream[torch.Tensor]) -> torch.Tensor:
        layout = packed_layout(source.cu, target.cu, source.positions, target.positions, 8)
        return model(source.tokens, target.tokens, layout)

    alone = packed_tensors(8, 1, 400, torch.device("cpu"))
    second = {name: replace(stream, tokens=batch[name].tokens[8:16]) for name, stream in alone.items()}
    torch.testing.assert_close(logits(**batch)[8:16], logits(**second), atol=1e-5, rtol=1e-5)


def test_linear_memory_costs_the_same_for_every_token() -> None:
    (line,) = cost_of_a_token([*POINTS, FAILED])
    assert line.endswith(": 1,024 1,024")


def test_failures_are_reported_and_left_out_of_the_plot() -> None:
    assert "out of memory" in FAILED.row()
    picture = ElementTree.fromstring(draw([*POINTS, FAILED], 1024, "a machine <&>"))
    assert len(picture.findall(".//{*}circle")) == 9  # three panels of three points
    assert "a machine <&>" in [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_the_whole_command(tmp_path: Path) -> None:
    run = run_benchmark("lengths", "--tiny", "--out", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    points = json.loads((tmp_path / "lengths.json").read_text())["points"]
    assert {(each["system"], each["series"]) for each in points} >= {
        (system, series) for system in ("flash", "torch") for series in ("batch", "one")
    }
    assert {each["length"] for each in points} == {16, 32}
    assert not [each["failure"] for each in points if each["failure"]]
    again = tmp_path / "again.svg"
    assert run_benchmark("lengths", "--draw", tmp_path / "lengths.json", again).returncode == 0
    assert again.read_text() == (tmp_path / "lengths.svg").read_text()
