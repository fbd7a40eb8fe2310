"""Every table and figure, end to end, at a scale of seconds."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.reproduce import ablate, figures, table1, table2, table3
from hark.reproduce.published import TABLE_2, TABLE_3
from hark.reproduce.scales import SCALES, TINY
from hark.reproduce.targets import TARGETS, find_target, nominal_seconds
from hark.reproduce.work import Row, Target, Work, missing_parts, run_parts, write_report
from hark.rundir import RunDir
from hark.train.metrics import read_metrics
from hark.train.records import ResumeRecord

Reproduce = Callable[[Target], tuple[str, Path]]


@pytest.fixture
def reproduce(text: Dataset, tmp_path: Path) -> Reproduce:
    """Runs a target; returns its Markdown and the folder."""

    def run(target: Target) -> tuple[str, Path]:
        work = Work(TINY, tmp_path / target.name, "cpu", text if target.uses_text else None)
        files = write_report(target, work, run_parts(target, work))
        for file in files:
            if file.suffix == ".svg":
                ElementTree.parse(file)  # well-formed
        json.loads(files[1].read_text())
        return files[0].read_text(), work.folder

    return run


def cells(markdown: str, first: str, column: int = 0) -> list[list[str]]:
    """The rows of a table with `first` in a column."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) > column and row[column] == first]


def test_table1_measures_the_four_layers(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(table1.TARGET)
    (attention,) = cells(markdown, "self-attention")
    assert attention[1:3] == ["O(n² · d)", "n^2.00 · d^1.00"]
    (recurrent,) = cells(markdown, "recurrent")
    assert recurrent[1:3] == ["O(n · d²)", "n^1.00 · d^2.00"]
    assert recurrent[6].startswith("O(n): ")
    assert cells(markdown, "convolutional")[0][8] == "O(log n): 2, 3, 4, 4, 5"
    assert cells(markdown, "restricted self-attention")[0][8].startswith("O(n): ")
    assert "What differs from the paper" in markdown
    assert (folder / "table1.svg").exists()


def test_table2_has_every_published_row_and_ours(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(table2.TARGET)
    for system in TABLE_2:
        assert cells(markdown, system.name)
    for name, published in (("base", "27.3"), ("big", "28.4")):
        (paper,) = cells(markdown, f"Transformer ({name}), paper")
        (ours,) = cells(markdown, f"Transformer ({name}), ours")
        assert paper[1] == published
        assert float(ours[1]) >= 0
        assert ours[3].startswith(("1", "2", "3", "4", "5", "6", "7", "8", "9"))
        assert "4 steps" in ours[6]
    rows = json.loads((folder / "table2.json").read_text())["rows"]
    assert rows["big"]["flops"] > 2 * rows["base"]["flops"]
    assert rows["base"]["averaged"] == TINY.averaged


def test_rows_are_the_same_after_an_interruption(text: Dataset, tmp_path: Path) -> None:
    """It stops in the last step of the second run, which has a checkpoint by then and is resumed."""
    parts = [part for part in table3.parts(TINY, None) if part.name in ("base", "A-1", "E")]
    target = Target("some", "", lambda _scale, _steps: parts, table3.report)

    def stop(stage: str, pairs: int, share: float | None) -> None:  # noqa: ARG001
        if stage.startswith("2/3") and (share or 0) >= table3.TRAINING:
            raise KeyboardInterrupt

    whole, stopped = (Work(TINY, tmp_path / name, "cpu", text) for name in ("whole", "stopped"))
    with pytest.raises(KeyboardInterrupt):
        run_parts(target, stopped, stop)
    assert RunDir(stopped.run_folder("A-1")).saved_steps == [1]
    assert [part.name for part in missing_parts(target, stopped)] == ["A-1", "E"]
    first, second = (run_parts(target, work) for work in (whole, stopped))
    assert {name: scores(row) for name, row in first.items()} == {name: scores(row) for name, row in second.items()}
    resumed = read_metrics(stopped.folder / "rows" / "A-1.metrics.jsonl").start
    assert isinstance(resumed, ResumeRecord)


def scores(row: Row) -> Row:
    return {name: row[name] for name in ("perplexity", "bleu", "weights", "target_tokens")}


def test_table3_has_every_row(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(table3.TARGET)
    for variation in TABLE_3:
        (row,) = cells(markdown, variation.about, column=1)
        assert row[2] == f"{variation.perplexity:.2f}"
        assert float(row[3]) > 1
        assert row[4] == f"{variation.bleu:.1f}"
        assert float(row[5]) >= 0
    assert cells(markdown, "base, second seed", column=1)
    assert markdown.count("**") >= 2 * 9  # verdicts
    assert "2 of 256 tokens" in markdown
    tree = json.loads((folder / "table3.json").read_text())
    assert tree["rows"]["base"]["perplexity"] != tree["rows"]["base-seed2"]["perplexity"]
    assert tree["rows"]["C-1024"]["weights"] > tree["rows"]["base"]["weights"] > tree["rows"]["C-256"]["weights"]


def test_ablate_has_every_ingredient(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(ablate.TARGET)
    for about in [each.about for each in ablate.TRAINED] + [about for _, about, _ in ablate.DECODED]:
        assert cells(markdown, about)
    rows = json.loads((folder / "ablate.json").read_text())["rows"]
    found = {name: rows[name]["perplexity"] for name in ("base", "scaling", "residuals", "norm", "tying", "smoothing")}
    assert len(set(found.values())) == len(found)
    assert rows["tying"]["weights"] > rows["base"]["weights"]
    assert rows["base"]["last"]["perplexity"] != rows["base"]["perplexity"]


def test_figures_are_drawn_from_the_shipped_model(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(figures.TARGET)
    for name in ("positions", "rate", "figure3", "figure4", "figure5"):
        assert f"![]({name}.svg)" in markdown
        assert (folder / f"{name}.svg").exists()
    rows = json.loads((folder / "figures.json").read_text())["rows"]
    assert rows["positions"]["rotation_error"] < 1e-6
    assert rows["rate"]["curves"][0]["peak"] == pytest.approx(512**-0.5 * 4000**-0.5)
    for figure in ("figure3", "figure4", "figure5"):
        assert all(head["weight"] > head["usual"] for head in rows[figure]["heads"])
    assert "turned" in (folder / "figure3.svg").read_text()


def test_a_diverged_run_is_a_row_of_the_table() -> None:
    row: Row = {"failed": "non-finite loss", "steps": 3}
    assert table3.shown(row, "bleu") == "diverged"
    assert "diverged" in table2.our_line("x", row, Work(TINY, Path()))


def test_every_target_has_a_cost_at_every_scale() -> None:
    for target in TARGETS.values():
        assert all(nominal_seconds(target, scale) > 0 for scale in SCALES)
    slow = TARGETS["table3"].cost(SCALES["medium"])
    assert 20 * 60 < nominal_seconds(TARGETS["table3"], "medium") < 30 * 60
    assert slow.slow_flops > 0  # rows that our kernels do not cover


def test_table4_is_refused_clearly() -> None:
    with pytest.raises(UserError, match=r"table4: not part of hark reproduce; .* python -m benchmarks\.parse"):
        find_target("table4")
    with pytest.raises(UserError, match="did you mean table3"):
        find_target("tabel3")
