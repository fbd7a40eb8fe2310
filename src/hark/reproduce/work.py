"""Runs a target: measures its parts one after the other, keeps each result, and writes the report.

A part's result is a JSON file, `rows/PART.json`. A command that is killed and started again measures only what is
missing. A result also names the settings and text it depends on, so that a changed one is measured again.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import hark
from hark.atomic import replace_file
from hark.data.dataset import Dataset
from hark.data.progress import Progress, silent
from hark.errors import UserError
from hark.parse.treebank import Treebank
from hark.reproduce.cost import Cost
from hark.reproduce.scales import Scale
from hark.reproduce.trial import Advance, free_memory
from hark.train.processes import choose_device

Row = dict[str, Any]
"""The result of a part, as JSON values."""
Rows = Mapping[str, Row]


@dataclass(frozen=True)
class Work:
    """What the parts of a target work with."""

    scale: Scale
    folder: Path
    """Rows, unfinished runs and the report."""
    device: str = "auto"
    text: Dataset | None = None
    trees: Mapping[str, Treebank] = field(default_factory=dict)
    """Treebanks by name."""
    steps: int | None = None
    """Optimiser steps of each run, instead of the scale's."""

    @property
    def dataset(self) -> Dataset:
        assert self.text is not None, "the target does not ask for text"
        return self.text

    @cached_property
    def text_key(self) -> str | None:
        """Identifies the text that is trained on."""
        if self.trees:
            return ",".join(f"{name} {each.key}" for name, each in self.trees.items())
        return self.text.manifest.key if self.text else None

    def steps_of(self, name: str) -> int:
        return self.steps or self.scale.steps[name]

    def run_folder(self, part: str) -> Path:
        return self.folder / "runs" / part


@dataclass(frozen=True)
class TargetPart:
    """One measurement: a row of a table, or a figure."""

    name: str
    """Also the name of its file."""
    title: str
    cost: Cost
    settings: str
    """All that it depends on, except the text."""
    measure: Callable[[Work, Advance], Row]


@dataclass(frozen=True)
class Report:
    """The results of a target."""

    markdown: str
    pictures: Mapping[str, str] = field(default_factory=dict)
    """SVG by name."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What is computed from the rows, for the JSON file."""


@dataclass(frozen=True)
class Target:
    """A table or a set of figures of the paper."""

    name: str
    about: str
    parts: Callable[[Scale, int | None], Sequence[TargetPart]]
    """For a scale, and a number of steps instead of the scale's."""
    report: Callable[[Work, Rows], Report]
    needs: Literal["text", "trees", "nothing"] = "text"
    """Parallel text, treebanks, or nothing but the machine or a shipped model."""

    def cost(self, scale: Scale, steps: int | None = None) -> Cost:
        return sum((part.cost for part in self.parts(scale, steps)), Cost())


def select_parts(target: Target, names: Sequence[str], scale: Scale) -> Target:
    """The target with only some of its parts."""
    known = [part.name for part in target.parts(scale, None)]
    for name in names:
        if name not in known:
            raise UserError(f"--only {name}: {target.name} has the rows {', '.join(known)}")

    def parts(scale: Scale, steps: int | None) -> list[TargetPart]:
        return [part for part in target.parts(scale, steps) if part.name in names]

    return replace(target, parts=parts)


def key_of(part: TargetPart, work: Work) -> str:
    # Without text, the machine is what is measured: rows of a CPU and of a GPU must not meet in one table.
    measured = work.text_key or choose_device(work.device, 0).type
    return hashlib.sha256(f"{part.settings}\n{measured}".encode()).hexdigest()


def read_row(work: Work, part: TargetPart) -> Row | None:
    """The kept result of a part; None if there is none, or if it is of other settings or another text."""
    try:
        tree = json.loads((work.folder / "rows" / f"{part.name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    found = isinstance(tree, dict) and tree.get("key") == key_of(part, work)
    return tree["row"] if found else None


def missing_parts(target: Target, work: Work) -> list[TargetPart]:
    return [part for part in target.parts(work.scale, work.steps) if read_row(work, part) is None]


def run_parts(target: Target, work: Work, progress: Progress = silent) -> Rows:
    """Measure the missing parts; return the results of all."""
    parts = target.parts(work.scale, work.steps)
    rows = {}
    for number, part in enumerate(parts, start=1):
        row = read_row(work, part)
        if row is None:
            stage = f"{number}/{len(parts)} {part.title}"
            progress(stage, 0, 0.0)
            row = part.measure(work, partial(progress, stage, 0))
            keep_row(work, part, row)
            free_memory()
        rows[part.name] = row
    return rows


def keep_row(work: Work, part: TargetPart, row: Row) -> None:
    """Write a result, and then remove the run that it came from, except for its metrics."""
    folder, run = work.folder / "rows", work.run_folder(part.name)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = run / "metrics.jsonl"
    if metrics.exists():
        shutil.copyfile(metrics, folder / f"{part.name}.metrics.jsonl")
    tree = {"key": key_of(part, work), "title": part.title, "row": row}
    replace_file(folder / f"{part.name}.json", json_bytes(tree))
    shutil.rmtree(run, ignore_errors=True)


def write_report(target: Target, work: Work, rows: Rows) -> list[Path]:
    """Write the report as Markdown, pictures and JSON; return the files, Markdown first."""
    report = target.report(work, rows)
    tree = {
        "target": target.name,
        "scale": work.scale.name,
        "hark": hark.__version__,
        "text": work.text_key,
        "rows": rows,
        **report.figures,
    }
    files = {f"{target.name}.md": report.markdown.encode(), f"{target.name}.json": json_bytes(tree)}
    files |= {f"{name}.svg": svg.encode() for name, svg in report.pictures.items()}
    for name, content in files.items():
        replace_file(work.folder / name, content)
    return [work.folder / name for name in files]


def json_bytes(tree: Any) -> bytes:
    return (json.dumps(tree, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
