"""Quality against training time, ours and Hugging Face's Marian: the same text, the same model, one GPU.

    python -m benchmarks.time_to_quality [RUN ...] [--draw PICTURE.svg]

RUN is a run of `hark train` on the dataset of docs/results/time-to-quality.md, beside the recorded run of Marian: 20
minutes on an H200 with our tokenizer, pairs in every step and initial weights. Without RUN, ours are the recorded ones
too. BLEU of saved weights is read from test_scores.jsonl in the run's folder, if it is there.

Only training time counts, on both sides: not the start (compiling, capturing graphs, reading data), evaluating or
saving. For exact times, set train.eval_steps and train.save_steps to multiples of train.log_steps, and
train.save_minutes to a large value; a checkpoint at any other step counts as training.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from hark.monitor.curves import Chart, Curve
from hark.monitor.plot import draw_charts
from hark.rundir import RunDir
from hark.train.metrics import History, read_metrics
from hark.train.records import DevRecord, ResumeRecord, SaveRecord, StartRecord, TrainRecord

LOGS = Path(__file__).parents[1] / "docs" / "results" / "logs" / "time-to-quality"
OURS = [LOGS / "paper-recipe", LOGS / "speedrun"]
ROWS, SCORES = "rows.jsonl", "test_scores.jsonl"
STEEP = 0.8
"""Losses this far above the lowest are not drawn."""


@dataclass(frozen=True)
class Row:
    """An evaluation on the dev sets. Seconds are those of training only."""

    seconds: float
    steps: int
    target_tokens: int
    loss: float  # label-smoothed, per target token
    nll: float


@dataclass(frozen=True)
class TestScore:
    """BLEU of the weights at one moment on one test set."""

    __test__ = False  # not a test class for pytest

    seconds: float
    steps: int
    set: str
    bleu: float
    sentences: int
    signature: str


@dataclass(frozen=True)
class System:
    name: str
    rows: Sequence[Row]
    scores: Sequence[TestScore]


def rows_of(history: History) -> list[Row]:
    clock = Clock(history)
    rows: dict[int, list[DevRecord]] = {}
    for record in history.dev:
        rows.setdefault(record.step, []).append(record)
    means = {step: np.mean([(each.loss, each.nll) for each in records], 0) for step, records in rows.items()}
    return [Row(clock.seconds(step), step, round(clock.tokens(step)), *means[step].tolist()) for step in rows]


class Clock:
    """Seconds of training only, at any step of one of our runs.

    A train record is written when the device has finished all steps up to it, and an evaluation or a checkpoint of the
    same step starts then: the time until its own record is not training. A checkpoint between two such steps cannot be
    told apart from training, and counts as training, to our disadvantage. So does an evaluation after the last train
    record of an incomplete log. Start-up is excluded on both sides.
    """

    def __init__(self, history: History) -> None:
        self.points = [(0, 0.0, 0)]  # step, seconds, target tokens
        at = saved_at = 0.0
        known, saved = -1, -1  # steps with a synchronised device
        for record in history.records:
            step, seconds, _ = self.points[-1]
            match record:
                case StartRecord():
                    if isinstance(record, ResumeRecord) and saved == record.step > step:
                        self.points.append((record.step, seconds + saved_at - at, record.target_tokens))
                    at, known = record.time, record.step
                case TrainRecord():
                    self.points.append((record.step, seconds + record.time - at, record.target_tokens))
                    at, known = record.time, record.step
                case DevRecord() | SaveRecord():
                    if isinstance(record, SaveRecord):
                        saved, saved_at = record.step, record.time
                    if record.step == known:
                        at = record.time
                case _:
                    pass
        step, seconds, tokens = self.points[-1]
        for record in history.dev:  # after the last train record of an incomplete log
            if record.step > step > 0:
                self.points.append((record.step, seconds + record.time - at, round(tokens * record.step / step)))

    def seconds(self, step: int) -> float:
        steps, seconds, _ = zip(*self.points, strict=True)
        return float(np.interp(step, steps, seconds))

    def tokens(self, step: int) -> float:
        steps, _, tokens = zip(*self.points, strict=True)
        return float(np.interp(step, steps, tokens))


Line = TypeVar("Line", Row, TestScore)


def read_lines(path: Path, kind: type[Line]) -> list[Line]:
    if not path.exists():
        return []
    return [kind(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def table(systems: Sequence[System]) -> str:
    """Format a line for every moment with a measurement."""
    sets = sets_of(systems)
    heads = ["system", "minutes", "steps", "target tokens", "dev loss", "dev nll", *(f"BLEU {each}" for each in sets)]
    lines = [heads]
    for system in systems:
        rows = {row.steps: row for row in system.rows}
        moments = {row.steps: row.seconds for row in system.rows} | {e.steps: e.seconds for e in system.scores}
        for steps, seconds in sorted(moments.items()):
            row = rows.get(steps)
            measured = [f"{row.target_tokens:,}", f"{row.loss:.4f}", f"{row.nll:.4f}"] if row else [""] * 3
            scores = {each.set: f"{each.bleu:.2f}" for each in system.scores if each.steps == steps}
            lines.append(
                [system.name, f"{seconds / 60:.2f}", f"{steps:,}", *measured, *(scores.get(each, "") for each in sets)]
            )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    signatures = sorted({each.signature for system in systems for each in system.scores})
    text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([*text, *signatures, *catches(systems)])


def catches(systems: Sequence[System]) -> Iterator[str]:
    """State when the others reached the final quality of the first, and the first theirs. Only measurements count:
    nothing is interpolated."""
    first, *others = systems
    for one, other in [(first, each) for each in others] + [(each, first) for each in others]:
        pairs = {"dev nll": [[(row.seconds, -row.nll) for row in each.rows] for each in (one, other)]}
        for name in sets_of([one, other]):
            scores = ([each for each in system.scores if each.set == name] for system in (one, other))
            pairs[f"BLEU {name}"] = [[(score.seconds, score.bleu) for score in each] for each in scores]
        for what, (aims, found) in pairs.items():
            if aims and found:
                seconds, aim = max(aims)
                reached = min((at for at, value in found if value >= aim), default=None)
                words = f"{what}: {one.name} had {abs(aim):.{3 if aim < 0 else 2}f} after {seconds / 60:.1f} minutes"
                if reached is None:
                    yield f"{words}; {other.name} did not reach it in {max(found)[0] / 60:.1f}"
                else:
                    yield f"{words}; {other.name} first measured at least as good after {reached / 60:.1f}"


def sets_of(systems: Sequence[System]) -> list[str]:
    return list(dict.fromkeys(each.set for system in systems for each in system.scores))


def charts_of(systems: Sequence[System]) -> list[Chart]:
    lowest = min((row.nll for system in systems for row in system.rows), default=0.0)
    # The steep first minute would flatten the rest of the curve.
    near = [[row for row in system.rows if row.nll < lowest + STEEP] for system in systems]
    rows = tuple(curve(i, each, [row.nll for row in each]) for i, each in enumerate(near))
    charts = [Chart("Dev loss", "plain nll, without the steep start", rows, dots=True)]
    for name in sets_of(systems):
        chosen = [[each for each in system.scores if each.set == name] for system in systems]
        curves = tuple(curve(i, scores, [each.bleu for each in scores]) for i, scores in enumerate(chosen))
        charts.append(Chart(f"BLEU, {name}", "beam 4, length penalty 0.6", curves, dots=True))
    return [chart for chart in charts if any(each.values for each in chart.curves)]


def curve(index: int, measured: Sequence[Row] | Sequence[TestScore], values: Sequence[float]) -> Curve:
    steps, seconds = tuple(each.steps for each in measured), tuple(each.seconds for each in measured)
    return Curve(index, steps, (0,) * len(steps), seconds, tuple(values))


def draw(systems: Sequence[System]) -> str:
    """Draw all charts against training time, in two columns under one legend."""
    names = [system.name for system in systems]
    return draw_charts(names, charts_of(systems), "time", f"{' and '.join(names)}: quality against training time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="*", metavar="RUN", help="our runs (default: the recorded ones)")
    parser.add_argument("--draw", type=Path, metavar="PICTURE.svg")
    arguments = parser.parse_args()
    marian = LOGS / "marian"
    rows, scores = read_lines(marian / ROWS, Row), read_lines(marian / SCORES, TestScore)
    systems = [System("Hugging Face Marian", rows, scores)]
    for run in map(RunDir, arguments.runs or OURS):
        name = "hark" if len(arguments.runs) == 1 else f"hark, {run.name}"
        scores = read_lines(run.path / SCORES, TestScore)
        systems.append(System(name, rows_of(read_metrics(run.metrics)), scores))
    print(table(systems))
    if arguments.draw:
        arguments.draw.write_text(draw(systems), encoding="utf-8")


if __name__ == "__main__":
    main()
