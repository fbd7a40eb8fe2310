"""Every table and figure, end to end, at a scale of seconds."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.parse.treebank import Treebank, read_treebank
from hark.reproduce import ablate, figures, table1, table2, table3, table4
from hark.reproduce.published import TABLE_2, TABLE_3, TABLE_4
from hark.reproduce.scales import SCALES, TINY
from hark.reproduce.targets import TARGETS, find_target, nominal_seconds
from hark.reproduce.translating import TRAINING
from hark.reproduce.work import Row, Target, Work, missing_parts, run_parts, write_report
from hark.rundir import RunDir
from hark.text.trees import format_tree
from hark.train.metrics import read_metrics
from hark.train.records import ResumeRecord
from tests.parse.parsers import treebank

Reproduce = Callable[[Target], tuple[str, Path]]


def run_target(target: Target, text: Dataset, folder: Path) -> tuple[str, Path]:
    """Run a target; return its Markdown and the folder."""
    needs_text, needs_trees = target.needs == "text", target.needs == "trees"
    work = Work(TINY, folder / target.name, "cpu", text if needs_text else None, treebanks() if needs_trees else {})
    files = write_report(target, work, run_parts(target, work))
    for file in files:
        if file.suffix == ".svg":
            ElementTree.parse(file)  # well-formed
    json.loads(files[1].read_text())
    return files[0].read_text(), work.folder


@pytest.fixture
def reproduce(text: Dataset, tmp_path: Path) -> Reproduce:
    return lambda target: run_target(target, text, tmp_path)


@pytest.fixture(scope="module")
def whole_table3(text: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return run_target(table3.TARGET, text, tmp_path_factory.mktemp("whole"))


def treebanks() -> dict[str, Treebank]:
    trees = treebank()
    return {
        "gum": Treebank("gum", trees[:30], trees[30:33], trees[33:], "made-up sentences"),
        "wsj_sample": Treebank("wsj_sample", trees[6:], trees[:3], trees[3:6], "others"),
    }


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


def test_rows_are_the_same_after_an_interruption(text: Dataset, whole_table3: tuple[str, Path], tmp_path: Path) -> None:
    """It stops in the last step of the second run, which has a checkpoint by then and is resumed."""
    parts = [part for part in table3.parts(TINY, None) if part.name in ("base", "A-1", "E")]
    target = Target("some", "", lambda _scale, _steps: parts, table3.report)

    def stop(stage: str, pairs: int, share: float | None) -> None:  # noqa: ARG001
        if stage.startswith("2/3") and (share or 0) >= TRAINING:
            raise KeyboardInterrupt

    stopped = Work(TINY, tmp_path, "cpu", text)
    with pytest.raises(KeyboardInterrupt):
        run_parts(target, stopped, stop)
    assert RunDir(stopped.run_folder("A-1")).saved_steps == [1]
    assert [part.name for part in missing_parts(target, stopped)] == ["A-1", "E"]
    whole = json.loads((whole_table3[1] / "table3.json").read_text())["rows"]
    rows = run_parts(target, stopped)
    assert {name: scores(row) for name, row in rows.items()} == {name: scores(whole[name]) for name in rows}
    assert list(rows) == ["base", "A-1", "E"]
    resumed = read_metrics(stopped.folder / "rows" / "A-1.metrics.jsonl").start
    assert isinstance(resumed, ResumeRecord)


def scores(row: Row) -> Row:
    return {name: row[name] for name in ("perplexity", "bleu", "weights", "target_tokens")}


def test_table3_has_every_row(whole_table3: tuple[str, Path]) -> None:
    markdown, folder = whole_table3
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


def test_table4_trains_and_scores_parsers(reproduce: Reproduce) -> None:
    markdown, folder = reproduce(table4.TARGET)
    for parser in TABLE_4:
        assert [row for row in cells(markdown, parser.name) if row[1] == parser.training and row[3] == f"{parser.f1}"]
    ours = cells(markdown, "**Hark**, recipe `parse`")
    assert [row[2] for row in ours] == ["gum test", "wsj_sample test"]
    assert all("30 sentences" in row[1] and "4 steps" in row[1] for row in ours)
    rows = json.loads((folder / "table4.json").read_text())["rows"]
    for name in ("gum", "wsj_sample"):
        row = rows[f"{name}-parse"]
        assert row["test"]["sentences"] == 3
        assert row["test"]["tag_accuracy"] >= 0
        assert "tag_accuracy" not in row["right_branching"]
        assert 0 < row["right_branching"]["f1"] < row["right_branching_unlabelled"]["f1"]
        assert row["dev"].keys() == {"best", "average"}
        assert sum(each["counts"][3] for each in row["by_length"]) == 3
        parsed = read_treebank(folder / "trees" / f"{name}-parse.trees")
        assert [tree.words() for tree in parsed] == [tree.words() for tree in treebanks()[name].test]


def test_treebanks_are_cut_to_the_sentences_of_a_scale(tmp_path: Path) -> None:
    for name in ("gum-train", "gum-dev", "gum-test", "wsj_sample"):
        trees = treebank() * (1 + (name == "wsj_sample"))
        (tmp_path / f"{name}.trees").write_text("".join(f"{format_tree(tree)}\n" for tree in trees))
    found = table4.open_treebanks(replace(TINY, sentences=2), tmp_path)
    assert [len(each.train) for each in found.values()] == [36, 62]
    assert {len(part) for each in found.values() for part in (each.dev, each.test)} == {2}


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
    assert 20 * 60 < nominal_seconds(TARGETS["table3"], "medium") < 50 * 60
    assert slow.slow_flops > 0  # rows that our kernels do not cover


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UserError, match="did you mean table3"):
        find_target("tabel3")
