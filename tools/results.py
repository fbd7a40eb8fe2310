"""Write a page of docs/results from the logs of runs and evaluations, so that no figure is typed by hand.

    python -m tools.results RUN... -o docs/results/NAME.md --title "Multi30k, English to German" \\
        --command "hark train multi30k" --evaluation scores.json \\
        --published "lower_bleu:test_2016_flickr=41.0" --published-by "Wu et al., 2021: Transformer-tiny"

RUN is a run folder, or a copy of its config.toml and metrics.jsonl; several runs are one recipe with several seeds.
scores.json is the output of `hark evaluate BUNDLE... --json`; several systems in it, or several files, give a mean and
a standard deviation. The plot (NAME.svg) is written next to the page, and the logs to logs/SUBJECT/ below it:
NAME.jsonl, or NAME-RUN.jsonl for each run; the evaluations as NAME-scores.json, NAME-scores-2.json. The subject is the
first word of NAME unless --subject names another.
"""

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hark import configfile
from hark.cli.plot import read_runs
from hark.config import Config
from hark.errors import HarkError, UserError
from hark.evaluate.measures import TITLES, Measure, decimals
from hark.monitor import plot
from hark.monitor.curves import Run
from hark.pages import formats
from hark.rundir import RunDir
from hark.train.metrics import History
from hark.train.records import ResumeRecord

SEEDS = ("train.seed", "data.seed", "batches.seed")
"""Settings that may differ between runs of one recipe."""


@dataclass(frozen=True)
class Trained:
    """A run, with its settings."""

    run: Run
    folder: RunDir
    config: Config

    @property
    def history(self) -> History:
        return self.run.history


@dataclass(frozen=True)
class Scored:
    """One score of one system."""

    set: str
    measure: Measure
    system: str
    value: float
    confidence: float | None


@dataclass(frozen=True)
class Evaluations:
    scores: Sequence[Scored]
    sentences: dict[str, int]
    signatures: dict[Measure, str]

    def of(self, name: str, measure: Measure) -> list[Scored]:
        return [each for each in self.scores if (each.set, each.measure) == (name, measure)]


def read_trained(folders: Sequence[Path]) -> list[Trained]:
    dirs = [RunDir(folder) for folder in folders]
    runs = read_runs(list(folders))
    return [Trained(run, each, configfile.load(each.config)) for run, each in zip(runs, dirs, strict=True)]


def read_evaluations(files: Sequence[Path]) -> Evaluations:
    scores: list[Scored] = []
    sentences: dict[str, int] = {}
    signatures: dict[Measure, str] = {}
    for file in files:
        tree: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for measure, signature in tree["signatures"].items():
            if signatures.setdefault(measure, signature) != signature:
                raise UserError(
                    f"{file}: {measure} has a different signature than in the other files; evaluate all in the same way"
                )
        for each in tree["sets"]:
            sentences[each["name"]] = each["sentences"]
            for system in each["systems"]:
                for measure, score in system["scores"].items():
                    scores.append(Scored(each["name"], measure, system["name"], score["score"], score["confidence"]))
    return Evaluations(scores, sentences, signatures)


def facts(runs: Sequence[Trained], commands: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The rows of the table of facts. If runs differ, the minimum and the maximum."""
    first, lasts = runs[0], [each.history.last for each in runs if each.history.last]
    config, start = first.config, first.history.start
    for command in commands:
        yield "command", f"`{command}`"
    if start:
        several = f"{start.processes} x " if start.processes > 1 else ""
        yield "device", f"{several}{start.device}" + (f"; {start.passes}" if start.passes else "")
    yield "seed", ", ".join(str(each.config.train.seed) for each in runs)
    if other := differences(runs):
        yield "runs differ in", ", ".join(f"`{key}`" for key in other)
    yield "model", describe_model(config, start.weights if start else None)
    yield (
        "batches",
        f"{config.batches.batch_tokens * config.train.batches_per_step:,} tokens per step, {config.batches.kind}",
    )
    yield "search", f"beam {config.decode.beam}, length penalty {config.decode.alpha}"
    if not lasts:
        return
    yield "steps", span([each.step for each in lasts]) + f" ({span([round(each.epoch, 1) for each in lasts])} epochs)"
    yield "target tokens", span([each.target_tokens for each in lasts])
    times = "training time, with evaluating and saving"
    yield times, " to ".join(dict.fromkeys(formats.duration(at([e.seconds for e in lasts])) for at in (min, max)))
    throughput = [statistics.median(each.tokens_per_second for each in run.history.train) for run in runs]
    yield "target tokens per second, median", span([round(each) for each in throughput])
    resumed = sum(isinstance(each, ResumeRecord) for run in runs for each in run.history.records)
    if resumed:
        yield "stopped and resumed", f"{resumed} times"
    best = [run.history.best for run in runs if run.history.best]
    if best:
        yield (
            "dev sets, best nll per token",
            spread([each.nll for each in best], 3) + (f" at step {span([each.step for each in best])}"),
        )
    for name in dict.fromkeys(name for each in best for name in each.scores):
        found = [max(each.scores.get(name, 0.0) for each in run.history.dev) for run in runs]
        yield f"dev sets, best {name}", spread(found, 1)


def describe_model(config: Config, weights: int | None) -> str:
    model = config.model
    return (
        f"{model.n_encoder_layers} + {model.n_decoder_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.n_heads} heads, dropout {model.dropout}, {model.norm}-norm, vocabulary {model.vocab_size:,}"
        + (f": {formats.short(weights)} weights" if weights else "")
    )


def differences(runs: Sequence[Trained]) -> list[str]:
    """Settings that differ between runs, except the seeds."""
    values: dict[str, set[str]] = {}
    for each in runs:
        for setting in configfile.explain(each.config):
            values.setdefault(setting.key, set()).add(str(setting.value))
    return [key for key, found in values.items() if len(found) > 1 and key not in SEEDS]


def span(numbers: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(f"{at(numbers):,}" for at in (min, max)))


def spread(numbers: Sequence[float], places: int) -> str:
    """The mean, the sample standard deviation, and the range over seeds."""
    mean = f"{statistics.mean(numbers):.{places}f}"
    if len(numbers) == 1:
        return mean
    ends = f"{min(numbers):.{places}f} to {max(numbers):.{places}f}"
    return f"{mean} ± {statistics.stdev(numbers):.{places}f} ({ends})"


def score_table(found: Evaluations, published: dict[tuple[str, str], float], published_by: str) -> Iterator[str]:
    """A table with a row per set and a column per measure."""
    systems = dict.fromkeys(each.system for each in found.scores)
    heads = [TITLES[measure] for measure in found.signatures]
    published_measures = {measure for measure, _ in published}
    most = max(len(found.of(name, measure)) for name in found.sentences for measure in found.signatures)
    yield "## Scores" if most == 1 else f"## Scores of {most} systems: mean ± standard deviation (range)"
    yield ""
    yield row(
        ["test set", *heads, *(f"{TITLES[each]}, published" for each in found.signatures if each in published_measures)]
    )
    yield row(["---"] * (1 + len(heads) + len(published_measures)))
    for name, sentences in found.sentences.items():
        cells = [f"{name} ({sentences:,})"]
        for measure in found.signatures:
            scores = found.of(name, measure)
            cell = spread([each.value for each in scores], decimals(measure))
            if len(scores) == 1 and scores[0].confidence is not None:
                cell += f" ±{scores[0].confidence:.{decimals(measure)}f}"
            cells.append(cell)
        for measure in found.signatures:
            if measure in published_measures:
                value = published.get((measure, name))
                cells.append("" if value is None else f"{value:.{decimals(measure)}f}")
        yield row(cells)
    yield ""
    yield f"Measured: {', '.join(systems)}."
    if most == 1:
        yield "±: half of the 95% interval, by bootstrap."
    if published:
        yield f"Published: {published_by}."
    yield ""
    for measure, signature in found.signatures.items():
        yield f"- {TITLES[measure]}: `{signature}`"


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page(
    title: str,
    about: str,
    runs: Sequence[Trained],
    commands: Sequence[str],
    logs: Sequence[str],
    picture: str,
    found: Evaluations,
    published: dict[tuple[str, str], float],
    published_by: str,
) -> str:
    lines = [f"# {title}", "", *([about, ""] if about else []), row(["", ""]), row(["---", "---"])]
    lines += [row([name, value]) for name, value in facts(runs, commands)]
    links = ", ".join(f"[{Path(each).name}]({each})" for each in logs)
    lines += [row(["log" if len(logs) == 1 else "logs", links]), "", f"![Curves]({picture})", ""]
    if found.scores:
        lines += score_table(found, published, published_by)
    return "\n".join(lines).rstrip() + "\n"


def read_published(words: Sequence[str]) -> dict[tuple[str, str], float]:
    """Parse arguments of the form MEASURE:SET=VALUE."""
    found: dict[tuple[str, str], float] = {}
    for word in words:
        key, _, value = word.rpartition("=")
        measure, _, name = key.partition(":")
        if measure not in TITLES or not name:
            raise UserError(f"--published {word}: must be MEASURE:SET=VALUE, with MEASURE one of {', '.join(TITLES)}")
        found[measure, name] = float(value)
    return found


def store_logs(output: Path, subject: str, runs: Sequence[Trained], evaluations: Sequence[Path]) -> list[str]:
    """Copy the logs of runs and evaluations to the folder of the subject; return their paths relative to the page."""
    files = {
        f"{output.stem if len(runs) == 1 else f'{output.stem}-{each.folder.name}'}.jsonl": each.folder.metrics
        for each in runs
    }
    for number, evaluation in enumerate(evaluations, start=1):
        files[f"{output.stem}-scores{f'-{number}' if number > 1 else ''}.json"] = evaluation
    folder = Path("logs") / subject
    (output.parent / folder).mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        shutil.copyfile(file, output.parent / folder / name)
    return [(folder / name).as_posix() for name in files]


def write(arguments: argparse.Namespace) -> None:
    output: Path = arguments.output
    runs = read_trained(arguments.runs)
    logs = store_logs(output, arguments.subject or output.stem.partition("-")[0], runs, arguments.evaluation)
    picture = output.with_suffix(".svg")
    picture.write_text(plot.draw([each.run for each in runs]), encoding="utf-8")
    text = page(
        arguments.title or output.stem,
        arguments.about,
        runs,
        arguments.command,
        logs,
        picture.name,
        read_evaluations(arguments.evaluation),
        read_published(arguments.published),
        arguments.published_by,
    )
    output.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{output}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PAGE.md")
    parser.add_argument("--subject", default="", help="folder of the logs (default: the first word of the page's name)")
    parser.add_argument("--title", default="")
    parser.add_argument("--about", default="", help="paragraph below the title")
    parser.add_argument("--command", action="append", default=[], help="command as typed; repeat for several")
    parser.add_argument("--evaluation", type=Path, action="append", default=[], metavar="FILE.json")
    parser.add_argument("--published", action="append", default=[], metavar="MEASURE:SET=VALUE")
    parser.add_argument("--published-by", default="others", help="source of the published scores")
    try:
        write(parser.parse_args())
    except (UserError, HarkError) as error:
        sys.exit(f"results: {error}")


if __name__ == "__main__":
    main()
